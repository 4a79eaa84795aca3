"""Input of training steps: how many samples a second workers make, and what steps wait for them."""
