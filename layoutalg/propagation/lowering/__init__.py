"""From layouts to code: a module at workgroup or subgroup level becomes one at lane level, conversions and all."""

__all__: list[str] = []
