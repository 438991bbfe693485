"""What the explorer is shown in Chromium: sixty texts of all systems with their shapes, and what is asked of every tab."""

from __future__ import annotations

TEXTS: tuple[tuple[str, str], ...] = (
    ("d0 = 8@reg, d1 = 16@lane", ""),
    ("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane", ""),
    ("d0 = 8@reg | replicas 2@lane:8", ""),
    ("d0 = 4@reg:2 4@lane, d1 = 2@reg 4@lane:4", ""),
    ("d0 = 16@addr:16, d1 = 16@addr", ""),
    ("d0 = 3@lane, d1 = 5@reg", ""),
    ("d0 = 2@sg, d1 = 8@lane:2, d2 = 2@lane 4@reg", ""),
    ("d0 = 64@reg, d1 = 16@lane 4@reg:64", ""),
    ("#xegpu.layout<lane_layout = [16]>", "32"),
    ("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", "8x16"),
    ("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", ""),
    ("#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>", "16x16"),
    ("#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 2]>", "16x16"),
    ("#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>", "16x16"),
    ("#xegpu.layout<lane_layout = [2, 8], lane_data = [2, 2]>", "8x32"),
    ("#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1], order = [0, 1]>", "8x16"),
    ("#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>", "32x64"),
    ("#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 64], inst_data = [8, 16]>", "256x256"),
    ("#xegpu.layout<sg_layout = [2, 2], sg_data = [8, 8]>", "16x16"),
    ("#xegpu.layout<sg_layout = [2, 2], sg_data = [8, 8]>", "8x32"),
    (
        "#xegpu.slice<#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>, "
        "dims = [0]>",
        "64",
    ),
    (
        "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], "
        "thread_tile = [8, 8], element_tile = [1, 4], subgroup_strides = [0, 0], thread_strides = [8, 1]>",
        "",
    ),
    (
        "#iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [2, 1], outer_tile = [1, 1], "
        "thread_tile = [16, 4], element_tile = [1, 4], subgroup_strides = [1, 0], thread_strides = [1, 16]>",
        "",
    ),
    (
        "#iree_vector_ext.nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [16], "
        "element_tile = [4], subgroup_strides = [0], thread_strides = [1]>",
        "",
    ),
    ("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>", ""),
    ("#iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>", ""),
    ("#iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>", ""),
    ("MFMA_F32_16x16x16_F16", ""),
    ("MFMA_F32_16x16x4_F32", ""),
    ("MFMA_I32_16x16x32_I8", ""),
    ("v_mfma_f32_32x32x8_f16", ""),
    ("v_mfma_f64_16x16x4_f64", ""),
    ("dpas.f16.f16.f32", ""),
    ("dpas.bf16.bf16.f32", ""),
    ("ldmatrix.x4", ""),
    ("ldmatrix.x4.trans", ""),
    ("SM80_16x8x16_F32F16F16F32_TN", ""),
    ("SM80_16x8x8_F32TF32TF32F32_TN", ""),
    ("rdna3/v_wmma_f32_16x16x16_f16/w32", ""),
    ("!amx.tile<16x32xbf16>", ""),
    ("!amx.tile<16x64xi8>", ""),
    ("!x86.amx.tile<8x16xf32>", ""),
    ("#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>", "32x32"),
    ("#ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [0, 1]}>", "32x16"),
    ("#ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>", "1024"),
    (
        "#ttg.slice<{dim = 1, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], "
        "warpsPerCTA = [2, 2], order = [1, 0]}>}>",
        "32",
    ),
    ("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>", "32x32"),
    ("#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>", "64x64"),
    ("#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 1], instrShape = [16, 16, 16], isTransposed = true}>", "32x16"),
    (
        "#ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], "
        "instrShape = [16, 8]}>, kWidth = 2}>",
        "32x16",
    ),
    ("#ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0]], warp = [], block = []}>", "8x4"),
    ("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>", "16x64"),
    ("(8,4):(4,1)", ""),
    ("((2,4),8):((1,16),2)", ""),
    ("(32,32):(32,1)", ""),
    ("Sw<2,3,3> o 0 o (8,32):(32,1)", ""),
    ("Sw<3,3,3> o 0 o (8,64):(64,1)", ""),
    ("24:1", ""),
    ("(4,(2,8)):(2,(1,8))", ""),
    ("#l = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>\n#xegpu.slice<#l, dims = [0]>", "16"),
)

CONTRAST = """() => {
  const channel = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  const back = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const one of document.querySelectorAll("body *")) {
    const said = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!said || one.closest("svg, .under") || !one.checkVisibility()) continue;
    const style = getComputedStyle(one);
    const [a, b] = [light(numbers(style.color)), light(back(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5 || parseFloat(style.fontSize) < 12) {
      poor.push(`${one.outerHTML.slice(0, 80)} ${style.color} ${style.fontSize}`);
    }
  }
  for (const svg of document.querySelectorAll(".canvas svg")) {
    if (!svg.checkVisibility()) continue;
    const rects = [...svg.querySelectorAll("rect")].filter((one) => !one.closest("[display=none], .slot, .marks")).map(
      (one) => [one.getBBox(), numbers(getComputedStyle(one).fill)]);
    for (const one of svg.querySelectorAll("text")) {
      if (one.closest("[display=none]")) continue;
      const box = one.getBBox();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      const under = rects.filter(([r]) => r.x <= x && x <= r.x + r.width && r.y <= y && y <= r.y + r.height).pop();
      const [a, b] = [light(numbers(getComputedStyle(one).fill)), light(under ? under[1] : back(svg))].sort((p, q) => q - p);
      if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(`${one.outerHTML.slice(0, 120)} on ${under && under[1]}`);
    }
  }
  return poor.slice(0, 5);
}"""
"""What is too small to read, or has too little contrast with what is under it."""

UNNAMED = """() => [...document.querySelectorAll("input, textarea, button, [tabindex='0'], meter")].filter((one) =>
  !(["aria-label", "aria-hidden"].some((name) => one.hasAttribute(name)) || one.textContent.trim() || (one.labels || []).length)
).map((one) => one.outerHTML)"""
"""What a screen reader has no name for."""
