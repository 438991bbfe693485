// buffers of the device: 22 23 24
func.func @buffers(%n: index, %h: memref<?x16xf32>, %u: memref<*xf32>, %x: f32) {
  %0 = gpu.alloc (%n) : memref<?x16xf32>
  %1 = gpu.alloc host_shared (%n) : memref<?x16xf32>
  %2 = gpu.alloc () : memref<8x16xf32, 1>
  %t0 = gpu.wait async
  %3, %t1 = gpu.alloc async [%t0] (%n) : memref<?x16xf32>
  %t2 = gpu.memcpy async [%t1] %3, %h : memref<?x16xf32>, memref<?x16xf32>
  gpu.memcpy %0, %h : memref<?x16xf32>, memref<?x16xf32>
  gpu.memcpy [%t0] %0, %h : memref<?x16xf32>, memref<?x16xf32> {note}
  %t3 = gpu.memset async [%t2] %3, %x : memref<?x16xf32>, f32
  gpu.memset %0, %x : memref<?x16xf32>, f32
  %t4 = gpu.dealloc async [%t3, %t0] %3 : memref<?x16xf32>
  gpu.dealloc %0 : memref<?x16xf32>
  gpu.wait [%t4]
  gpu.wait
  gpu.host_register %u : memref<*xf32>
  gpu.host_unregister %u : memref<*xf32>
  return
}
// -----
// a kernel and its launch: 22 23 24
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%a: memref<8xf32>, %b: i32) kernel attributes {known_block_size = array<i32: 16, 1, 1>, known_grid_size = array<i32: 4, 1, 1>, intel_reqd_sub_group_size = 16 : i32, VectorComputeFunctionINTEL, spirv.entry_point_abi = #spirv.entry_point_abi<>} {
      gpu.return
    }
    gpu.func @empty() kernel {
      gpu.return
    }
  }
  func.func @main(%a: memref<8xf32>, %n: index, %i: i32, %t: !gpu.async.token, %big: i64) {
    gpu.launch_func @kernels::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%a : memref<8xf32>, %i : i32)
    gpu.launch_func @kernels::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %i args(%a : memref<8xf32>, %i : i32)
    %0 = gpu.launch_func async [%t] @kernels::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%a : memref<8xf32>, %i : i32)
    gpu.launch_func @kernels::@empty blocks in (%n, %n, %n) threads in (%n, %n, %n)
    gpu.launch_func @kernels::@empty clusters in (%n, %n, %n) blocks in (%n, %n, %n) threads in (%n, %n, %n) {note}
    gpu.launch_func @kernels::@empty blocks in (%big, %big, %big) threads in (%big, %big, %big) : i64
    return
  }
}
// -----
// a kernel written where it is launched: 22 23 24
func.func @launch(%n: index, %m: memref<?xf32>, %x: f32, %s: i32, %t: !gpu.async.token) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%lx = %n, %ly = %n, %lz = %n) {
    memref.store %x, %m[%bx] : memref<?xf32>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%lx = %n, %ly = %n, %lz = %n) dynamic_shared_memory_size %s {
    gpu.terminator
  } {note}
  %0 = gpu.launch async [%t] blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%lx = %n, %ly = %n, %lz = %n) workgroup(%w : memref<4xf32, 3>) private(%p : memref<4xf32, 5>) {
    gpu.terminator
  }
  gpu.launch clusters(%cx, %cy, %cz) in (%kx = %n, %ky = %n, %kz = %n) blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%lx = %n, %ly = %n, %lz = %n) {
    gpu.terminator
  }
  return
}
// -----
// functions of the device: 22 23 24
gpu.module @m [#xevm.target<chip = "pvc">] {
  gpu.func @plain(%a: f32) -> f32 {
    gpu.return %a : f32
  }
  gpu.func @several(%a: f32 {llvm.noundef}, %b: i32) -> (f32, i32) {
    gpu.return %a, %b : f32, i32
  }
  gpu.func @shared(%a: f32) workgroup(%w : memref<32xf32, #gpu.address_space<workgroup>>, %v : memref<4xi8, 3> {llvm.align = 16 : i64}) private(%p : memref<4xf32, 5>) kernel attributes {known_cluster_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
  func.func @ordinary() {
    return
  }
  llvm.func @foreign(i32) -> f32
}
gpu.module @n <#gpu.select_object<0>> [#xevm.target, #xevm.target<chip = "bmg">] attributes {note} {
}
gpu.module @o {
}
// -----
// numbers of work-items: 22 23 24
gpu.module @m {
  gpu.func @numbers() kernel {
    %0 = gpu.block_id x
    %1 = gpu.block_dim y
    %2 = gpu.grid_dim z
    %3 = gpu.thread_id x upper_bound 64
    %4 = gpu.global_id y
    %5 = gpu.lane_id
    %6 = gpu.lane_id upper_bound 16
    %7 = gpu.subgroup_id : index
    %8 = gpu.subgroup_id upper_bound 8 : index
    %9 = gpu.num_subgroups : index
    %10 = gpu.subgroup_size : index
    %11 = gpu.subgroup_size upper_bound 32 {note} : index
    %12 = gpu.cluster_id x
    %13 = gpu.cluster_dim x
    %14 = gpu.cluster_block_id y
    %15 = gpu.cluster_dim_blocks z
    gpu.return
  }
}
// -----
// work-items together: 22 23 24
gpu.module @m {
  gpu.func @together(%x: f32, %n: i32, %i: index, %v: vector<4xf16>) kernel {
    %0, %1 = gpu.shuffle xor %x, %n, %n : f32
    %2, %3 = gpu.shuffle up %n, %n, %n : i32
    %4, %5 = gpu.shuffle idx %v, %n, %n {note} : vector<4xf16>
    %6, %7 = gpu.shuffle down %x, %n, %n : f32
    %8 = gpu.all_reduce add %x {} : (f32) -> f32
    %9 = gpu.all_reduce maxnumf %x uniform {} : (f32) -> f32
    %10 = gpu.all_reduce %x {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      gpu.yield %s : f32
    } : (f32) -> f32
    %11 = gpu.subgroup_reduce add %x : (f32) -> f32
    %12 = gpu.subgroup_reduce maxsi %n uniform : (i32) -> i32
    %13 = gpu.subgroup_reduce add %v cluster(size = 4) : (vector<4xf16>) -> vector<4xf16>
    %14 = gpu.subgroup_reduce and %n uniform cluster(size = 8, stride = 4) {note} : (i32) -> i32
    gpu.barrier
    gpu.barrier {note}
    gpu.printf "hello %f %d\n", %x, %n : f32, i32
    gpu.printf "nothing"
    %15 = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %16 = gpu.subgroup_broadcast %x, first_active_lane : f32
    %17 = gpu.subgroup_broadcast %v, specific_lane %n : vector<4xf16>
    gpu.return
  }
}
// -----
// rotation: 22 23 24
gpu.module @m {
  gpu.func @rotation(%x: f32) kernel {
    %0, %1 = gpu.rotate %x, 4, 16 : f32
    gpu.return
  }
}
// -----
// barriers of one memory: 23 24
gpu.module @m {
  gpu.func @fences() kernel {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    gpu.barrier memfence [#gpu.address_space<workgroup>, #gpu.address_space<global>] {note}
    gpu.barrier memfence []
    gpu.return
  }
}
// -----
// one lane of a subgroup: 22 23 24
gpu.module @m {
  gpu.func @warp(%lane: index, %v: vector<4xf32>, %w: vector<2xf32>) {
    gpu.warp_execute_on_lane_0(%lane)[32] {
    }
    %0 = gpu.warp_execute_on_lane_0(%lane)[16] -> (vector<1xf32>) {
      %a = ub.poison : vector<16xf32>
      gpu.yield %a : vector<16xf32>
    }
    %1 = gpu.warp_execute_on_lane_0(%lane)[32] args(%v : vector<4xf32>) -> (vector<4xf32>) {
    ^bb0(%a: vector<128xf32>):
      gpu.yield %a : vector<128xf32>
    }
    gpu.return
  }
}
// -----
// compiled kernels: 22 23 24
module attributes {gpu.container_module} {
  gpu.binary @b [#gpu.object<#xevm.target, "abc\00">]
  gpu.binary @c <#gpu.select_object<1 : i64>> [#gpu.object<#xevm.target, offload = "xyz">, #gpu.object<#xevm.target<chip = "bmg">, assembly = "isa">]
}
