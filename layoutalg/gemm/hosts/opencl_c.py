"""A host in C for OpenCL 2.1 and later: SPIR-V or a zebin, on the first GPU there is, else on any device.

A second file on its command line is OpenCL C that is compiled and linked to the kernel: bodies for Intel's builtins
(`layoutalg.gemm.hosts.builtins`), which a device without matrix instructions does not have. The host then takes a CPU first.

>>> "clCreateProgramWithIL" in opencl_c(la.plan_gemm(64, 64, 64))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.gemm.hosts.reference import READ_FILE, kernels_of, numbers_in_c, reference_of, scratch_of

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.plan import Gemm

__all__ = ["opencl_c"]


def opencl_c(plan: Gemm | Attention) -> str:
    """The text of the program."""
    launch = plan.launch
    name = launch.kernel
    scratch = scratch_of(plan)
    allocated = [(_ZEROED if one.zeros else _ALLOCATED).format(**one._asdict()) for one in scratch]
    return (
        f"/* {plan.problem}\n   Written by layoutalg. Usage: host [{name}.spv or {name}.zebin [builtins.cl]] */\n"
        "#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl.h>\n"
        + reference_of(plan)
        + kernels_of(plan, "global_size")
        + READ_FILE
        + _PROGRAM.replace("@FLAGS@", dict(launch.flags)["opencl"])
        .replace("@KERNEL@", launch.kernel)
        .replace("@NUMBERS@", numbers_in_c(plan, {"i32": "cl_int", "i64": "cl_long"}))
        .replace("@SCRATCH@\n", "".join(allocated))
        .replace(
            "@FREE@\n", "".join(f'  must(clReleaseMemObject({one.name}), "clReleaseMemObject");\n' for one in scratch)
        )
    )


_ALLOCATED = """\
  cl_mem {name} = clCreateBuffer(context, CL_MEM_READ_WRITE, {bytes}, NULL, &code); /* any bytes, kernels alone read it */
  must(code, "clCreateBuffer");
  set(kernels, {place}, sizeof {name}, &{name});
"""
_ZEROED = """\
  const cl_int zero = 0;
  cl_mem {name} = clCreateBuffer(context, CL_MEM_READ_WRITE, {bytes}, NULL, &code); /* zeros, and again after each launch */
  must(code, "clCreateBuffer");
  must(clEnqueueFillBuffer(queue, {name}, &zero, sizeof zero, 0, {bytes}, 0, NULL, NULL), "clEnqueueFillBuffer");
  set(kernels, {place}, sizeof {name}, &{name});
"""

_PROGRAM = r"""
static void must(cl_int code, const char *call) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s: OpenCL error %d\n", call, code);
  exit(2);
}

static cl_device_id device_of(cl_device_type type) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  cl_device_id device = NULL;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return NULL;
  for (cl_uint i = 0; i < count && i < 16 && device == NULL; i++)
    if (clGetDeviceIDs(platforms[i], type, 1, &device, NULL) != CL_SUCCESS) device = NULL;
  return device;
}

static void built(cl_program program, cl_device_id device, cl_int code, const char *call) {
  static char log[16384];
  if (code == CL_SUCCESS) return;
  if (program != NULL && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL) == CL_SUCCESS)
    fprintf(stderr, "%s\n", log);
  must(code, call);
}

static void set(const cl_kernel *kernels, cl_uint place, size_t size, const void *value) {
  for (int i = 0; i < KERNELS; i++) must(clSetKernelArg(kernels[i], place, size, value), "clSetKernelArg");
}

static void launch(cl_command_queue queue, const cl_kernel *kernels) { /* the queue keeps the order */
  for (int i = 0; i < KERNELS; i++)
    must(clEnqueueNDRangeKernel(queue, kernels[i], 3, NULL, global_size[i], workgroup[i], 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
}

static cl_program program_of(cl_context context, cl_device_id device, int gpu, const char *name, const char *builtins) {
  size_t bytes = 0;
  unsigned char *data = file(name, &bytes);
  const unsigned char *binary = data;
  const char *flags = gpu ? "@FLAGS@" : "";
  const uint32_t spirv = 0x07230203;
  cl_int code = CL_SUCCESS;
  cl_program program;
  if (memcmp(data, &spirv, 4) != 0) {
    cl_int status = CL_SUCCESS;
    program = clCreateProgramWithBinary(context, 1, &device, &bytes, &binary, &status, &code);
    must(code, "clCreateProgramWithBinary");
    must(status, "clCreateProgramWithBinary: this device's binary");
    built(program, device, clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  } else {
    program = clCreateProgramWithIL(context, data, bytes, &code);
    must(code, "clCreateProgramWithIL");
    if (builtins == NULL) {
      built(program, device, clBuildProgram(program, 1, &device, flags, NULL, NULL), "clBuildProgram");
    } else {
      size_t length = 0;
      const char *source = (const char *)file(builtins, &length);
      cl_program parts[2];
      parts[0] = program;
      parts[1] = clCreateProgramWithSource(context, 1, &source, &length, &code);
      must(code, "clCreateProgramWithSource");
      built(parts[1], device, clCompileProgram(parts[1], 1, &device, "-cl-std=CL1.2", 0, NULL, NULL, NULL, NULL),
            "clCompileProgram (builtins)");
      built(parts[0], device, clCompileProgram(parts[0], 1, &device, flags, 0, NULL, NULL, NULL, NULL), "clCompileProgram");
      program = clLinkProgram(context, 1, &device, "", 2, parts, NULL, NULL, &code);
      built(program, device, code, "clLinkProgram");
      must(clReleaseProgram(parts[0]), "clReleaseProgram");
      must(clReleaseProgram(parts[1]), "clReleaseProgram");
      free((void *)(uintptr_t)source);
    }
  }
  free(data);
  return program;
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "@KERNEL@.spv";
  cl_int code = CL_SUCCESS;
  cl_device_id device = device_of(argc > 2 ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU);
  cl_device_type type = 0;
  char words[256] = "";
  unsigned char *data[MATRICES], *result;
  cl_mem buffers[MATRICES];
  if (device == NULL) device = device_of(CL_DEVICE_TYPE_ALL);
  if (device == NULL) {
    fprintf(stderr, "no OpenCL device found\n");
    return 2;
  }
  must(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL), "clGetDeviceInfo");
  must(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof words, words, NULL), "clGetDeviceInfo");
  printf("%s\n", words);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  must(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
  must(code, "clCreateCommandQueueWithProperties");
  cl_program program = program_of(context, device, (type & CL_DEVICE_TYPE_GPU) != 0, name, argc > 2 ? argv[2] : NULL);
  cl_kernel kernels[KERNELS];
  for (int i = 0; i < KERNELS; i++) {
    kernels[i] = clCreateKernel(program, kernel_names[i], &code);
    must(code, "clCreateKernel");
  }

  for (int i = 0; i < MATRICES; i++) {
    data[i] = (unsigned char *)malloc(matrices[i].bytes);
    if (data[i] == NULL) must(CL_OUT_OF_HOST_MEMORY, "malloc");
    fill(i, data[i]);
    buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, matrices[i].bytes, data[i], &code);
    must(code, "clCreateBuffer");
    set(kernels, (cl_uint)i, sizeof buffers[i], &buffers[i]);
  }
@SCRATCH@
@NUMBERS@

  launch(queue, kernels);
  result = (unsigned char *)malloc(matrices[RESULT].bytes);
  if (result == NULL) must(CL_OUT_OF_HOST_MEMORY, "malloc");
  must(clEnqueueReadBuffer(queue, buffers[RESULT], CL_TRUE, 0, matrices[RESULT].bytes, result, 0, NULL, NULL),
       "clEnqueueReadBuffer");
  const int wrong = check((const unsigned char *const *)data, result);

  const double begin = now();
  for (int i = 0; i < LAUNCHES; i++) launch(queue, kernels);
  must(clFinish(queue), "clFinish");
  printf("%.4f ms a launch, mean of %d\n", (now() - begin) / LAUNCHES, (int)LAUNCHES);

  for (int i = 0; i < MATRICES; i++) {
    must(clReleaseMemObject(buffers[i]), "clReleaseMemObject");
    free(data[i]);
  }
@FREE@
  free(result);
  for (int i = 0; i < KERNELS; i++) must(clReleaseKernel(kernels[i]), "clReleaseKernel");
  must(clReleaseProgram(program), "clReleaseProgram");
  must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
  must(clReleaseContext(context), "clReleaseContext");
  return wrong;
}
"""
