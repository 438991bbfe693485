"""A host in C++ for SYCL, which any C++17 compiler makes: the kernel comes as SPIR-V, so no code here is for the device.

It takes the extension sycl_ext_oneapi_kernel_compiler_spirv of Intel's SYCL; ranges list z first there. SPIR-V that calls
Intel's builtins needs a GPU that has them. Compiled with WITH_BUILTINS, the host takes a CPU, and a second file as the host in
C does: OpenCL links it to the kernel, and SYCL takes OpenCL's kernels.

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
        f'    {{kernel_named("{one.kernel}"), sycl::nd_range<3>('
        f"{{{', '.join(map(str, one.global_size[::-1]))}}}, {{{', '.join(map(str, one.workgroup[::-1]))}}})}},\n"
        for one in launch.in_order
    ]
    flag = dict(launch.flags)["sycl"]
    return (
        f"/* {plan.problem}\n   Written by layoutalg. Usage: host [{launch.kernel}.spv [builtins.cl]] */\n"
        "#include <sycl/sycl.hpp>\n#ifdef WITH_BUILTINS\n#include <CL/cl.h>\n#endif\n\n"
        "#include <cstddef>\n#include <cstdint>\n#include <exception>\n#include <fstream>\n#include <iterator>\n"
        "#include <stdexcept>\n#include <string>\n#include <utility>\n#include <vector>\n\n"
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
static std::vector<char> contents(const char *name) {
  std::ifstream opened(name, std::ios::binary);
  std::vector<char> read((std::istreambuf_iterator<char>(opened)), std::istreambuf_iterator<char>());
  if (read.size() < 4) throw std::runtime_error(std::string(name) + ": cannot be read, or is too short");
  return read;
}

#ifdef WITH_BUILTINS /* a device without Intel's builtins: OpenCL links bodies for them to the kernel */

#define SELECTED sycl::cpu_selector_v

static void must(cl_int code, const char *call) {
  if (code != CL_SUCCESS) throw std::runtime_error(std::string(call) + ": OpenCL error " + std::to_string(code));
}

static cl_program linked(const std::vector<char> &binary, const std::vector<char> &source, cl_context context,
                         cl_device_id device) {
  cl_int code = CL_SUCCESS;
  const char *text = source.data();
  const std::size_t length = source.size();
  cl_program parts[2];
  parts[0] = clCreateProgramWithIL(context, binary.data(), binary.size(), &code);
  must(code, "clCreateProgramWithIL");
  parts[1] = clCreateProgramWithSource(context, 1, &text, &length, &code);
  must(code, "clCreateProgramWithSource");
  must(clCompileProgram(parts[0], 1, &device, "", 0, nullptr, nullptr, nullptr, nullptr), "clCompileProgram");
  must(clCompileProgram(parts[1], 1, &device, "-cl-std=CL1.2", 0, nullptr, nullptr, nullptr, nullptr),
       "clCompileProgram (builtins)");
  cl_program program = clLinkProgram(context, 1, &device, "", 2, parts, nullptr, nullptr, &code);
  must(code, "clLinkProgram");
  for (cl_program part : parts) must(clReleaseProgram(part), "clReleaseProgram");
  return program;
}

#else

#define SELECTED sycl::default_selector_v
namespace from_spirv = sycl::ext::oneapi::experimental;

#endif

static int run(const char *name, const char *builtins) {
  const std::vector<char> read = contents(name);
  sycl::queue queue{SELECTED, sycl::property::queue::in_order{}};
  std::printf("%s\n", queue.get_device().get_info<sycl::info::device::name>().c_str());
#ifdef WITH_BUILTINS
  cl_program program = linked(read, contents(builtins == nullptr ? "builtins.cl" : builtins),
                              sycl::get_native<sycl::backend::opencl>(queue.get_context()),
                              sycl::get_native<sycl::backend::opencl>(queue.get_device()));
  const auto kernel_named = [&](const char *kernel) {
    cl_int code = CL_SUCCESS;
    cl_kernel made = clCreateKernel(program, kernel, &code);
    must(code, "clCreateKernel");
    return sycl::make_kernel<sycl::backend::opencl>(made, queue.get_context());
  };
#else
  if (builtins != nullptr) throw std::runtime_error("builtins: only a host compiled with WITH_BUILTINS takes them");
  std::vector<std::byte> binary(read.size());
  std::memcpy(binary.data(), read.data(), read.size());
  auto source = from_spirv::create_kernel_bundle_from_source(queue.get_context(), from_spirv::source_language::spirv, binary);
  auto bundle = queue.get_device().is_gpu() ? from_spirv::build(source, @OPTIONS@) : from_spirv::build(source);
  const auto kernel_named = [&](const char *kernel) { return bundle.ext_oneapi_get_kernel(kernel); };
#endif

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
    return run(argc > 1 ? argv[1] : "@KERNEL@.spv", argc > 2 ? argv[2] : nullptr);
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
}
"""
