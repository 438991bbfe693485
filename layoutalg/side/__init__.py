"""What tests compilers: kernels that they should keep the meaning of, and the layouts that they write, reproduced."""

__all__: list[str] = []
