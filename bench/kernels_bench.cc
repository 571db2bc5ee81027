// Speed of the cpu kernels beside what this machine can do at most: bytes per second of matrix-vector products against
// a plain read of memory, operations per second of matrix-matrix products against a loop of int8 dot instructions.
// Prints a table; takes some seconds. Usage: kernels_bench [THREADS] [portable|avx2|avx512]
// Not a test: numbers depend on the machine and on what else it does.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine_limits.h"
#include "kernels/cpu/kernels.h"
#include "kernels/quant/panel.h"

namespace firn::bench {
namespace {

using cpu::InstructionSet;

/// Best seconds of one run of `work(thread)` on all threads at once, over a few repetitions.
double bestSeconds(int threads, const std::function<void(int)>& work) {
  double best = 1e9;
  for (int repetition = 0; repetition < 7; ++repetition) {
    std::atomic<int> ready = 0;
    std::vector<std::thread> pool;
    std::vector<double> seconds(static_cast<size_t>(threads));
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        ++ready;
        while (ready < threads) std::this_thread::yield();
        const auto start = std::chrono::steady_clock::now();
        work(t);
        seconds[static_cast<size_t>(t)] =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      });
    }
    for (std::thread& thread : pool) thread.join();
    best = std::min(best, *std::max_element(seconds.begin(), seconds.end()));
  }
  return best;
}

/// A random packed matrix with small scales, 64-byte aligned, one for each thread.
class Weights {
 public:
  Weights(DType type, uint32_t rows, uint32_t columns) : bytes_(*quant::panelBytes(type, rows, columns)) {
    data_ = static_cast<uint8_t*>(std::aligned_alloc(2 << 20, (bytes_ + (2 << 20)) >> 21 << 21));
    uint64_t state = 1;
    for (size_t i = 0; i + 8 <= bytes_; i += 8) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      const uint64_t halves = (state >> 8) & 0x03FF03FF03FF03FFULL;  // as fp16: below 2^-14, whatever plane it falls in
      *reinterpret_cast<uint64_t*>(data_ + i) = halves | 0x1000100010001000ULL;
    }
  }
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;
  ~Weights() { std::free(data_); }
  const uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_;
  uint8_t* data_;
};

struct Activations {
  Activations(uint32_t rows, uint32_t columns, uint32_t planeCount)
      : planes(planeCount),
        columns(columns),
        rows(rows),
        codes(size_t{planeCount} * rows * columns, 3),
        scales(size_t{rows} * columns / 32, 0.01F),
        sums(scales.size(), 96) {}
  cpu::ConstCodes view() const {
    return {codes.data(), scales.data(), sums.data(), size_t{rows} * columns, columns, columns / 32, planes};
  }
  uint32_t planes, columns, rows;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

struct Shape {
  DType type;
  uint32_t planes, rows, outputs, columns;
};

double linearSeconds(const cpu::CpuKernels& kernels, const Shape& shape, int threads) {
  std::vector<std::unique_ptr<Weights>> weights;
  for (int t = 0; t < threads; ++t)
    weights.push_back(std::make_unique<Weights>(shape.type, shape.outputs, shape.columns));
  const Activations in(shape.rows, shape.columns, shape.planes);
  const std::vector<float> floats(size_t{shape.rows} * shape.columns, 0.5F);
  std::vector<std::vector<float>> out(static_cast<size_t>(threads),
                                      std::vector<float>(size_t{shape.rows} * shape.outputs));
  return bestSeconds(threads, [&](int t) {
    const auto thread = static_cast<size_t>(t);
    const cpu::Rows result{out[thread].data(), shape.outputs};
    if (dtypeInfo(shape.type)->isQuantized) {
      kernels.linearI8(
          {in.view(), weights[thread]->data(), shape.type, nullptr, result, shape.rows, shape.outputs, shape.columns});
    } else {
      kernels.linearF32({{floats.data(), shape.columns},
                         weights[thread]->data(),
                         shape.type,
                         nullptr,
                         result,
                         shape.rows,
                         shape.outputs,
                         shape.columns});
    }
  });
}

void benchGemv(const cpu::CpuKernels& kernels, int threads, double limit) {
  for (const DType type :
       {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K, DType::kF16, DType::kF32}) {
    for (const uint32_t planes : {1U, 2U}) {
      if (planes == 2 && !dtypeInfo(type)->isQuantized) continue;
      for (const uint32_t columns : {576U, 2048U}) {
        const uint64_t panel = quant::panelShape(type, columns)->panelBytes;
        const auto outputs = static_cast<uint32_t>((96ULL << 20) / panel * 16);
        const double seconds = linearSeconds(kernels, {type, planes, 1, outputs, columns}, threads);
        const double rate = threads * static_cast<double>(*quant::panelBytes(type, outputs, columns)) / seconds * 1e-9;
        std::printf("gemv %-5s planes %u  K %-5u            %7.1f GB/s    %5.1f %% of read\n",
                    std::string(dtypeInfo(type)->name).c_str(), planes, columns, rate, 100 * rate / limit);
      }
    }
  }
}

void benchGemm(const cpu::CpuKernels& kernels, int threads, double limit) {
  for (const DType type :
       {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K, DType::kF32}) {
    for (const uint32_t planes : {1U, 2U}) {
      if (planes == 2 && !dtypeInfo(type)->isQuantized) continue;
      for (const uint32_t rows : {16U, 512U}) {
        for (const uint32_t columns : {576U, 2048U}) {
          const double seconds = linearSeconds(kernels, {type, planes, rows, 768, columns}, threads);
          const double rate = threads * 2.0 * rows * 768 * columns / seconds * 1e-9;
          std::printf("gemm %-5s planes %u  K %-5u rows %-4u %8.0f Gop/s   %5.1f %% of int8\n",
                      std::string(dtypeInfo(type)->name).c_str(), planes, columns, rows, rate, 100 * rate / limit);
        }
      }
    }
  }
}

/// One KV head with three query heads of 64, as SmolLM2 has: operations counted over the rows that each query sees.
void benchAttention(const cpu::CpuKernels& kernels, int threads, DType type) {
  constexpr uint32_t kRows = 1152;
  constexpr uint32_t kDim = 64;
  constexpr uint32_t kGroup = 3;
  const std::vector<uint32_t> cache(size_t{kRows} * kDim, 0x30003000);  // enough for f32
  const std::vector<float> scales(kRows, 0.01F);
  const std::vector<uint8_t> mask(kRows, 1);
  for (const uint32_t rows : {1U, 512U}) {
    const std::vector<float> q(size_t{rows} * kGroup * kDim, 0.3F);
    const double seconds = bestSeconds(threads, [&](int) {
      std::vector<float> out(q.size());
      std::vector<float> workspace(cpu::attentionWorkspaceFloats(rows, kGroup, kDim));
      cpu::AttentionArgs args{};
      args.q = q.data();
      args.qRowStride = args.outRowStride = size_t{kGroup} * kDim;
      args.qHeadStride = args.outHeadStride = args.kvRowStride = kDim;
      args.k = args.v = cache.data();
      args.type = type;
      args.kvHeadStride = cache.size();
      args.kScales = args.vScales = scales.data();
      args.mask = mask.data();
      args.workspace = workspace.data();
      args.out = out.data();
      args.scale = 0.125F;
      args.row0 = 1024 - rows;
      args.rows = rows;
      args.context = kRows;
      args.heads = args.group = kGroup;
      args.headDim = kDim;
      kernels.attention(args);
    });
    const double pairs = rows * (1024 - (rows - 1) / 2.0) * kGroup;
    std::printf("attention %-4s d 64, 3 heads, %4u rows at 1024: %8.1f us  %7.1f Gflop/s\n",
                std::string(dtypeInfo(type)->name).c_str(), rows, seconds * 1e6,
                threads * pairs * kDim * 4 / seconds * 1e-9);
  }
}

void benchRows(const cpu::CpuKernels& kernels) {
  constexpr uint32_t kRows = 64;
  constexpr uint32_t kColumns = 1536;
  const std::vector<float> x(size_t{kRows} * kColumns, 0.7F);
  std::vector<float> y(x.size());
  const cpu::ConstRows in{x.data(), kColumns};
  const cpu::Rows out{y.data(), kColumns};
  Activations codes(kRows, kColumns, 2);
  const auto print = [&](const char* name, const std::function<void(int)>& work) {
    std::printf("%-14s %6.2f ns per 16 elements\n", name, bestSeconds(1, work) * 1e9 / (x.size() / 16.0));
  };
  print("rms_norm", [&](int) { kernels.rmsNorm({in, x.data(), out, kRows, kColumns, 1e-5F}); });
  print("silu_mul", [&](int) { kernels.siluMul({in, in, out, kRows, kColumns}); });
  for (const uint32_t planes : {1U, 2U}) {
    print(planes == 1 ? "quantize, 1" : "quantize, 2", [&](int) {
      kernels.quantize(
          {in,
           {codes.codes.data(), codes.scales.data(), codes.sums.data(), x.size(), kColumns, kColumns / 32, planes},
           kRows,
           kColumns});
    });
  }
}

int run(int threads, InstructionSet isa) {
  const cpu::CpuKernels& kernels = cpu::kernels(isa);
  double readRate = 0;
  double dotRate = 0;
  {
    const ReadBuffer buffer(96ULL << 20, threads);
    readRate = threads * static_cast<double>(96ULL << 20) / bestSeconds(threads, [&](int t) { buffer.read(t); }) * 1e-9;
    dotRate = threads * int8PeakOperations() / bestSeconds(threads, [](int) { runInt8Peak(); }) * 1e-9;
  }
  std::printf("%s, %d thread(s): read of memory %.1f GB/s, int8 dots %.0f Gop/s\n",
              std::string(cpu::instructionSetName(isa)).c_str(), threads, readRate, dotRate);
  benchGemv(kernels, threads, readRate);
  benchGemm(kernels, threads, dotRate);
  for (const DType type : {DType::kF16, DType::kI8, DType::kF32}) benchAttention(kernels, threads, type);
  benchRows(kernels);
  return 0;
}

}  // namespace
}  // namespace firn::bench

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const auto isa =
      argc > 2 ? firn::cpu::instructionSetFromName(argv[2]) : std::optional(firn::cpu::bestInstructionSet());
  if (threads < 1 || threads > 1024 || !isa || !firn::cpu::isSupported(*isa)) {
    std::fprintf(stderr, "usage: kernels_bench [THREADS] [portable|avx2|avx512]; a set that this machine has\n");
    return 2;
  }
  return firn::bench::run(threads, *isa);
}
