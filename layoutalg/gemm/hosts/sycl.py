"""A host in C++ for SYCL, which any C++17 compiler makes: the kernel comes as SPIR-V, so no code here is for the device.

It takes the extension sycl_ext_oneapi_kernel_compiler_spirv of Intel's SYCL; ranges list z first there. SPIR-V that calls
Intel's builtins needs a GPU that has them.

>>> "source_language::spirv" in sycl(la.plan_gemm(64, 64, 64))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.gemm.hosts.reference import Scratch, numbers_of, reference_of, scratch_of

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.plan import Gemm

__all__ = ["sycl"]


def sycl(plan: Gemm | Attention) -> str:
    """The text of the program."""
    launch = plan.launch
    scratch = scratch_of(plan)
    numbers = [
        f"        handler.set_arg({place}, std::{'int32' if kind == 'i32' else 'int64'}_t{{{value}}});  // {name}\n"
        for place, name, kind, value in numbers_of(plan)
    ]
    numbers = [f"        handler.set_arg({place}, {name});\n" for name, place, *_ in scratch] + numbers
    launches = [
        f'    {{bundle.ext_oneapi_get_kernel("{one.kernel}"), sycl::nd_range<3>('
        f"{{{', '.join(map(str, one.global_size[::-1]))}}}, {{{', '.join(map(str, one.workgroup[::-1]))}}})}},\n"
        for one in launch.in_order
    ]
    flag = dict(launch.flags)["sycl"]
    return (
        f"/* {plan.problem}\n   Written by layoutalg. Usage: host [{launch.kernel}.spv] */\n#include <sycl/sycl.hpp>\n\n"
        "#include <cstddef>\n#include <cstdint>\n#include <exception>\n#include <fstream>\n#include <iterator>\n"
        "#include <utility>\n#include <vector>\n\n"
        + reference_of(plan)
        + _PROGRAM.replace("@KERNEL@", launch.kernel)
        .replace("@NUMBERS@", "".join(numbers).rstrip())
        .replace(
            "@OPTIONS@",
            f'from_spirv::properties{{from_spirv::build_options{{"{flag}"}}}}' if flag else "from_spirv::properties{}",
        )
        .replace("@LAUNCHES@", "".join(launches).rstrip())
        .replace("@SCRATCH@\n", "".join(_allocated(one) for one in scratch))
        .replace("@FREE@\n", "".join(f"  sycl::free({one.name}, queue);\n" for one in scratch))
    )


_ALLOCATED = """\
  void *{name} = sycl::aligned_alloc_device(64, {bytes}, queue);  // {said}
  if ({name} == nullptr) {{
    std::fprintf(stderr, "{bytes} bytes for {name}: no memory\\n");
    return 2;
  }}
"""
_ZEROED = "  queue.memset({name}, 0, {bytes});\n"


def _allocated(one: Scratch) -> str:
    said = "zeros, and again after each launch" if one.zeros else "any bytes, kernels alone read it"
    made = _ALLOCATED.format(name=one.name, bytes=one.bytes, said=said)
    return made + _ZEROED.format(name=one.name, bytes=one.bytes) * one.zeros


_PROGRAM = r"""
namespace from_spirv = sycl::ext::oneapi::experimental;

static int run(const char *name) {
  std::ifstream opened(name, std::ios::binary);
  const std::vector<char> read((std::istreambuf_iterator<char>(opened)), std::istreambuf_iterator<char>());
  if (read.size() < 4) {
    std::fprintf(stderr, "%s: cannot be read, or is no kernel\n", name);
    return 2;
  }
  std::vector<std::byte> binary(read.size());
  std::memcpy(binary.data(), read.data(), read.size());

  sycl::queue queue{sycl::default_selector_v, sycl::property::queue::in_order{}};
  std::printf("%s\n", queue.get_device().get_info<sycl::info::device::name>().c_str());
  auto source = from_spirv::create_kernel_bundle_from_source(queue.get_context(), from_spirv::source_language::spirv, binary);
  auto bundle = queue.get_device().is_gpu() ? from_spirv::build(source, @OPTIONS@) : from_spirv::build(source);

  std::vector<std::vector<unsigned char>> kept;
  const unsigned char *data[MATRICES];
  void *memory[MATRICES];
  for (int i = 0; i < MATRICES; i++) {
    kept.emplace_back(matrices[i].bytes);
    fill(i, kept.back().data());
    memory[i] = sycl::aligned_alloc_device(64, matrices[i].bytes, queue);
    if (memory[i] == nullptr) {
      std::fprintf(stderr, "%zu bytes for %s: no memory\n", matrices[i].bytes, matrices[i].name);
      return 2;
    }
    queue.memcpy(memory[i], kept.back().data(), matrices[i].bytes);
  }
  for (int i = 0; i < MATRICES; i++) data[i] = kept[static_cast<std::size_t>(i)].data();
@SCRATCH@
  const std::vector<std::pair<sycl::kernel, sycl::nd_range<3>>> kernels = {
@LAUNCHES@
  };
  const auto launch = [&] {
    for (const auto &one : kernels)  // the queue keeps the order
      queue.submit([&](sycl::handler &handler) {
        for (int i = 0; i < MATRICES; i++) handler.set_arg(i, memory[i]);
@NUMBERS@
        handler.parallel_for(one.second, one.first);
      });
  };
  launch();
  std::vector<unsigned char> result(matrices[RESULT].bytes);
  queue.memcpy(result.data(), memory[RESULT], result.size());
  queue.wait_and_throw();
  const int wrong = check(data, result.data());

  const double begin = now();
  for (int i = 0; i < LAUNCHES; i++) launch();
  queue.wait_and_throw();
  std::printf("%.4f ms a launch, mean of %d\n", (now() - begin) / LAUNCHES, static_cast<int>(LAUNCHES));
  for (void *one : memory) sycl::free(one, queue);
@FREE@
  return wrong;
}

int main(int argc, char **argv) {
  try {
    return run(argc > 1 ? argv[1] : "@KERNEL@.spv");
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
}
"""
