"""Data sets: the digits, and files of one's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.trainer import samples as samples_module
from mlperf.collect.trainer.samples import check_fits, digits_cnn, digits_samples, read_samples
from mlperf.core.errors import DataError


def images(n: int = 3, height: int = 9, width: int = 7, maps: int = 2) -> np.ndarray:
    return np.random.default_rng(0).random((n, height, width, maps)).astype(np.float32)


def test_the_digits_fit_their_network_and_keep_a_fifth() -> None:
    samples = digits_samples()
    check_fits(samples, digits_cnn(), 4)
    assert (samples.size, len(samples.test_labels)) == (1438, 359)
    assert samples.images.max() == 255


def test_the_digits_are_those_that_scikit_learn_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    read = digits_samples(3)
    monkeypatch.setattr(samples_module, "DIGITS", "is elsewhere")
    loaded = digits_samples(3)
    for name in ("images", "labels", "test_images", "test_labels"):
        np.testing.assert_array_equal(getattr(read, name), getattr(loaded, name), strict=True)


def test_a_file_of_floats_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, images=images(20, 8, 8, 1), labels=np.arange(20) % 10)
    samples = read_samples(path)
    assert (samples.name, samples.factor, samples.images.dtype) == ("mine", 1.0, np.float32)
    assert samples.size == 16
    np.savez(
        path,
        images=images(20, 8, 8, 1)[..., 0],
        labels=np.arange(20) % 10,
        test_images=images(4, 8, 8, 1),
        test_labels=np.arange(4),
    )
    samples = read_samples(path)
    assert (samples.images.shape, samples.test_images.shape) == ((20, 8, 8, 1), (4, 8, 8, 1))


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"images": images()}, "expected images and labels"),
        ({"images": images(), "labels": np.arange(4)}, "expected one label an image"),
        ({"images": images(), "labels": np.array([0.5, 1, 2])}, "expected classes"),
        ({"images": np.full((2, 3, 3), np.nan), "labels": np.arange(2)}, "not finite"),
        ({"images": images(), "labels": np.arange(3), "test_images": images()}, "expected test_images and test_labels"),
    ],
)
def test_a_wrong_file_is_named_with_what_it_lacks(tmp_path: Path, arrays, says: str) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=says) as caught:
        read_samples(path)
    assert "mine.npz" in str(caught.value)


def test_a_file_that_is_no_archive_is_a_data_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    path.write_text("nothing")
    with pytest.raises(DataError, match="no NumPy archive"):
        read_samples(path)


def test_a_set_that_does_not_fit_the_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, images=images(10, 9, 7, 1), labels=np.arange(10))
    with pytest.raises(DataError, match=r"got images of \(9, 7, 1\), expected \(8, 8, 1\)"):
        check_fits(read_samples(path), digits_cnn(), 1)
    np.savez(path, images=images(10, 8, 8, 1), labels=np.arange(10) + 5)
    with pytest.raises(DataError, match="got class 14, expected classes below 10"):
        check_fits(read_samples(path), digits_cnn(), 1)
    with pytest.raises(DataError, match="one for each of 2000 nodes"):
        check_fits(digits_samples(), digits_cnn(), 2000)


@pytest.mark.parametrize("length", [1, 40, 100, 400, 600, 900])
def test_an_archive_that_was_cut_off_is_a_data_error(length: int, tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, images=images(10, 9, 7, 1), labels=np.arange(10))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DataError, match="no NumPy archive"):
        read_samples(path)


def test_an_archive_of_another_packing_is_a_data_error(tmp_path: Path) -> None:
    """Bytes 8 and 9 of an entry say how it is packed, 4 and 5 which version of zip unpacks it."""
    path = tmp_path / "mine.npz"
    np.savez(path, images=images(10, 9, 7, 1), labels=np.arange(10))
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    for place in (entry + 10, entry + 6):
        damaged = bytearray(content)
        damaged[place] = 120
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="no NumPy archive"):
            read_samples(path)
