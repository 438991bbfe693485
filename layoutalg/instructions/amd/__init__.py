"""AMD's matrix instructions (MFMA, SMFMAC, WMMA, SWMMAC) and the loads that transpose."""
