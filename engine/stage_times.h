// Where the time of a session went.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace firn::engine {

/// One submission of a prompt.
struct ChunkTime {
  uint32_t entry = 0;  ///< index into the blob's entries
  uint32_t row0 = 0;
  uint32_t valid = 0;  ///< tokens, from cache row row0 on
  uint64_t predictedPicoseconds = 0;
  uint64_t nanoseconds = 0;
};

/// The stages of the last prompt and of the steps since. Wall clock, nanoseconds.
struct StageTimes {
  uint64_t planNanoseconds = 0;  ///< matching the prompt against what is cached, and covering the rest with chunks
  std::vector<ChunkTime> chunks;
  uint64_t headNanoseconds = 0;  ///< of the prompt; a step of one token has its head inside
  uint64_t decodeSteps = 0;
  uint64_t decodeNanoseconds = 0;
  /// Bytes that the entries' tasks name as weights, each lane's part once per call, and the cache rows read and
  /// written: what the memory bus must carry at least. Of prompt and steps.
  uint64_t bytesMoved = 0;
  uint64_t bytesCopied = 0;  ///< cache rows that the host copied, from a saved prefix or another session

  /// These, and then those of `later`.
  void add(const StageTimes& later) {
    planNanoseconds += later.planNanoseconds;
    chunks.insert(chunks.end(), later.chunks.begin(), later.chunks.end());
    headNanoseconds += later.headNanoseconds;
    decodeSteps += later.decodeSteps;
    decodeNanoseconds += later.decodeNanoseconds;
    bytesMoved += later.bytesMoved;
    bytesCopied += later.bytesCopied;
  }
};

inline uint64_t nanosecondsSince(std::chrono::steady_clock::time_point start) {
  return static_cast<uint64_t>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
}

}  // namespace firn::engine
