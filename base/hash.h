// XXH3-128 of bytes, in one go or in pieces: the hash of blobs, weights and cache keys.
// Not cryptographic: it finds accidents and keeps identities apart, it does not authenticate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace firn {

/// A 128-bit hash as stored in files: low word first, little-endian.
struct Hash128 {
  uint64_t low;
  uint64_t high;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

/// XXH3-128 (seed 0) of `bytes`. Thread-safe; about memory speed.
Hash128 hash128(std::span<const std::byte> bytes);

/// 32 lower-case hex digits, high word first, as `xxh128sum` prints it.
std::string toHex(const Hash128& hash);

/// The same hash over pieces: digest() equals hash128 of everything updated so far, in order. Movable; one thread.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  Hasher128(Hasher128&&) noexcept;
  Hasher128& operator=(Hasher128&&) noexcept;

  void update(std::span<const std::byte> bytes);
  /// May be called at any time; more may follow.
  Hash128 digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace firn
