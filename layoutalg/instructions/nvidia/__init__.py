"""NVIDIA's instructions: one module per family, each the formulas of its operands.

`warp_mma` has the `mma.sync` of a warp, `quad_pair_mma` that of eight threads (SM70), `sparse_mma` a sparse A,
`block_scaled_mma` SM120's,
`warpgroup_mma` `wgmma`, `tensor_memory_mma` `tcgen05.mma`, `dot_products` `dp4a`. `matrix_copies` and
`tensor_memory_copies` move operands,
`shared_memory_atoms` and `tensor_memory_fragments` say where they lie. `sources` names the documents.

>>> from layoutalg.instructions.nvidia.warp_mma import warp_operands
>>> print(warp_operands(16, 8, 16, 2)[2])
d0 = 2@reg:2 8@lane:4, d1 = 4@lane 2@reg
"""

__all__: list[str] = []
