"""Asynchronous SGD without a clock: real gradients in an order that is drawn, so that runs repeat to the bit on any machine."""
