#include "base/hash.h"

#include <xxhash.h>

#include <cstdio>

namespace firn {

namespace {

Hash128 fromXxh(const XXH128_hash_t& hash) { return {hash.low64, hash.high64}; }

}  // namespace

Hash128 hash128(std::span<const std::byte> bytes) { return fromXxh(XXH3_128bits(bytes.data(), bytes.size())); }

std::string toHex(const Hash128& hash) {
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

struct Hasher128::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

Hasher128::Hasher128() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh.get()); }
Hasher128::~Hasher128() = default;
Hasher128::Hasher128(Hasher128&&) noexcept = default;
Hasher128& Hasher128::operator=(Hasher128&&) noexcept = default;

void Hasher128::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}

Hash128 Hasher128::digest() const { return fromXxh(XXH3_128bits_digest(state_->xxh.get())); }

}  // namespace firn
