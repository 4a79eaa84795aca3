// The decoder of decode.c as a C++ library would have it: a class template, whose function has a name that only C++ can write.

#include <array>
#include <cstdint>

namespace pictures {

constexpr int side = 8;
constexpr int block_size = side * side;

template <typename Pixel>
class Decoder {
public:
    Decoder(const Pixel *quantisers, const Pixel *basis) : quantisers_(quantisers), basis_(basis) {}

    void operator()(const std::int8_t *coefficients, Pixel *pixels, long n_blocks) const
    {
        for (long block = 0; block < n_blocks; block++)
            decode_block(coefficients + block * block_size, pixels + block * block_size);
    }

private:
    // One 8 x 8 block dequantised and transformed back.
    __attribute__((noinline)) void decode_block(const std::int8_t *in, Pixel *out) const
    {
        std::array<Pixel, block_size> sum{};
        for (int wave = 0; wave < block_size; wave++) {
            const Pixel weight = in[wave] * quantisers_[wave];
            const Pixel *pattern = basis_ + wave * block_size;
            for (int at = 0; at < block_size; at++)
                sum[at] += weight * pattern[at];
        }
        for (int at = 0; at < block_size; at++)
            out[at] = sum[at];
    }

    const Pixel *quantisers_;
    const Pixel *basis_;
};

} // namespace pictures

extern "C" void decode_blocks(const std::int8_t *coefficients, const float *quantisers, const float *basis, float *pixels, long n_blocks)
{
    pictures::Decoder<float>(quantisers, basis)(coefficients, pixels, n_blocks);
}
