"""Instruction sets: how x86-64 and AArch64 write instructions, and the class of each."""
