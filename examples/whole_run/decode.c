/* Pictures from coefficients: every 8 x 8 block dequantised and transformed back, as a JPEG decoder does. */

#include <stdint.h>

enum { SIDE = 8, BLOCK = SIDE * SIDE };

void decode_blocks(const int8_t *coefficients, const float *quantisers, const float *basis, float *pixels, long n_blocks)
{
    for (long block = 0; block < n_blocks; block++) {
        const int8_t *in = coefficients + block * BLOCK;
        float *out = pixels + block * BLOCK;
        for (int at = 0; at < BLOCK; at++)
            out[at] = 0.0f;
        for (int wave = 0; wave < BLOCK; wave++) {
            const float weight = in[wave] * quantisers[wave];
            const float *pattern = basis + wave * BLOCK;
            for (int at = 0; at < BLOCK; at++)
                out[at] += weight * pattern[at];
        }
    }
}
