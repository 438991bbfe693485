"""AMD's matrix instructions (MFMA, SMFMAC, WMMA, SWMMAC) and the loads that transpose, a family per module."""

__all__: list[str] = []
