"""Kernels for propagation: generated ones, with their layouts and without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from layoutalg.side.conformance.generating import kernels
from layoutalg.side.conformance.kernel import GeneratedKernel

_LAYOUT = r"#xegpu\.(?:slice<#xegpu\.layout<[^>]*>, dims = \[[^\]]*\]|layout<[^>]*)>"


def bare(text: str) -> str:
    """A text without any layout."""
    text = re.sub(rf", {_LAYOUT}", "", text)
    text = re.sub(rf"<\{{layout = {_LAYOUT}\}}>", "", text)
    text = re.sub(rf"\{{(layout_\w+ = {_LAYOUT}(, )?)+\}}", "", text)
    text = re.sub(rf"layout_\w+ = {_LAYOUT}(, )?", "", text)
    return text.replace(", }", "}")


def asked_of(count: int, seed: int = 0) -> Iterator[tuple[GeneratedKernel, str]]:
    """Kernels with the level at which they are propagated: lane, instruction, workgroup with and without layouts."""
    for kernel in kernels(seed, count, level="plain"):
        yield kernel, "lane"
    for kernel in kernels(seed + 1, count // 2, level="plain"):
        yield kernel, "inst"
    for kernel in kernels(seed, count // 2, level="workgroup"):
        yield kernel, "workgroup"
    for kernel in kernels(seed + 1, count // 2, level="workgroup"):
        if "convert_layout" not in kernel.text:  # which cannot be without layouts
            yield replace(kernel, text=bare(kernel.text)), "workgroup"
