"""Learners of scikit-learn and boosted residuals under the protocol of the room; performance groups."""
