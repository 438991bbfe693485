"""The targets that IREE describes, by name: 69 texts that iree-opt 3.13.0 and 3.2.0 printed.

>>> gfx942 = known_target("gfx942")
>>> gfx942.arch, gfx942.wgp.subgroup_size_choices
('gfx942', (64,))
>>> known_targets("cuda")[:3]
('sm_60', 'sm_70', 'sm_75')
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.nested.gpu.iree_versions import check_dialect
from layoutalg.nested.gpu.reading import parse_gpu
from layoutalg.nested.gpu.target import TargetAttr

__all__ = ["known_target", "known_targets"]


@cache
def _known() -> dict[str, dict[str, dict[str, str]]]:
    """The texts of all known targets, by version, interface and name, as iree-compile printed them."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for line in files("layoutalg.nested.gpu").joinpath("targets.txt").read_text(encoding="utf-8").splitlines():
        version, api, name, text = line.split(" ", 3)
        found.setdefault(version, {}).setdefault(api, {})[name] = text
    return found


def known_targets(api: str = "hip", dialect: str | None = None) -> tuple[str, ...]:
    """The names of the targets that a version of IREE describes for an interface: `hip`, `cuda` or `vulkan`.

    Raises `VerificationError` for another interface.

    >>> "gfx1201" in known_targets(), "gfx1201" in known_targets(dialect="iree-3.2")
    (True, False)
    """
    names = _known()[check_dialect(dialect)]
    if not isinstance(api, str) or api not in names:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"interface {shown(api)}: expected {', '.join(names)}")
    return tuple(names[api])


def known_target(name: str, api: str | None = None, dialect: str | None = None) -> TargetAttr:
    """A target by its name (`gfx942`, `sm_80`, `mi300x`, `rdna3`, ...), as a version of IREE describes it.

    A few names (`rx7900xtx`) stand for different descriptions under hip and vulkan: the first of hip, cuda, vulkan that has
    the name, unless `api` says which.

    Raises `VerificationError` with the names of the others.

    >>> known_target("gfx950").wgp.scaled_mma[0].intrinsic
    'MFMA_SCALE_F32_16x16x128_B32'
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"target {shown(name)}: expected a name such as gfx942")
    version = check_dialect(dialect)
    apis = tuple(_known()[version]) if api is None else (api,)
    for one in apis:
        if name in known_targets(one, version):
            return _parsed(_known()[version][one][name])
    names = ", ".join(target for one in apis for target in known_targets(one, version))
    raise VerificationError(f"target {name[:40]!r}: IREE {version[5:]} describes {names}")


@cache
def _parsed(text: str) -> TargetAttr:
    target = parse_gpu(text)
    assert isinstance(target, TargetAttr)
    return target
