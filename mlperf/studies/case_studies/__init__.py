"""SOFA's third case study in small: real against synthetic input on more and more cores and workers, predicted beforehand."""
