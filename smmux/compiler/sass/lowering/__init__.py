"""From instructions of compiled code to the rows that the core runs: one instruction, one row.

`forms` says of each opcode which operation of `csrc/tables/sass.def` it is and which operand goes where; `memory` and
`control` do that for accesses and for what decides which lanes go on. What none of them knows is refused, by name.
"""
