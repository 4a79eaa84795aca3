"""What is known of one machine instruction once its spelling is out of the way."""

from __future__ import annotations

from dataclasses import dataclass

CLASSES = (
    *("load", "store", "move", "shuffle", "packed_add", "scalar_add", "packed_multiply", "scalar_multiply"),
    *("packed_fma", "scalar_fma", "divide", "convert", "compare", "vector_logic", "packed_integer", "integer"),
    *("address", "stack", "branch", "call", "other"),
)

# How an instruction hands on control; "" goes to the next one.


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction without its registers and addresses.

    Attributes
    ----------
    mnemonic : str
        Canonical: Intel's or Arm's preferred name, no operand-size suffix, one name for all aliases.
    kind : str
        One of `CLASSES`; ``"other"`` where the table of classes does not know the mnemonic.
    flow : str
        Empty; or ``jump`` (unconditional), ``branch`` (conditional), ``indirect`` (to an address in a register or table) or
        ``return`` (end of function).
    loads, stores : int
        Memory operands read and written (not those of calls, returns, pushes and pops).
    vector_bits : int
        Width of the widest vector register that packed arithmetic works on; 0 for all else.
    lanes : int
        Floating-point multiplications it does at once; 0 where it does not multiply.
    """

    mnemonic: str
    kind: str
    flow: str = ""
    loads: int = 0
    stores: int = 0
    vector_bits: int = 0
    lanes: int = 0


_OPENING, _CLOSING = "([{", ")]}"


def split_operands(text: str) -> list[str]:
    """Operands between the commas that no bracket encloses, without blanks around them."""
    if not text:
        return []
    if not any(bracket in text for bracket in _OPENING):
        return [part.strip() for part in text.split(",")]
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, text[begin:].strip()]
