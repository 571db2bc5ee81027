// A loaded model: a blob on its devices, shared by its sessions. Token ids in, logits out; no text here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "blob/reader.h"
#include "engine/devices.h"
#include "engine/rope_turn.h"
#include "engine/variants.h"
#include "runtime/device.h"

namespace firn::engine {

struct ModelOptions {
  std::string device = {};  ///< name for runtime::openDevice, to run it all; empty: those named like the blob's targets
  uint32_t threads = 0;     ///< 1..lanes of the blob; 0: as many as lanes and CPUs allow
  Ladders ladders = {};     ///< sizes to use; empty: all of the blob's
  runtime::DeviceOptions deviceOptions = {};
};

/// Numbers that every check and the API use, after rounding at compile time.
struct ModelLimits {
  uint32_t vocab = 0;
  uint32_t embed = 0;
  uint32_t maxPromptTokens = 0;
  uint32_t minResponseTokens = 0;
  uint32_t kvRows = 0;     ///< T: with n prompt tokens up to T - n + 1 tokens can be produced
  uint32_t topTokens = 0;  ///< length of the lists of the best tokens that come with logits; 0: none come
};

/// Blob, devices and programs. Owns them all. One thread at a time may use a model and its sessions.
class Model {
 public:
  /// Maps the blob, opens the devices, loads the programs. Weights are not read. Errors: those of Blob::open,
  /// openDevice, load.
  static Result<std::shared_ptr<Model>> open(const std::string& path, const ModelOptions& options);
  /// The same with a blob that is already open.
  static Result<std::shared_ptr<Model>> create(blob::Blob blob, const ModelOptions& options);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelLimits& limits() const { return limits_; }
  const blob::Blob& blob() const { return *blob_; }
  const VariantTable& variants() const { return variants_; }
  /// The ropes of the layers' keys, in order; empty when the model card does not tell.
  const std::vector<LayerRope>& ropes() const { return ropes_; }
  Devices& devices() { return devices_; }
  /// The device of the blob's own target, and the program on it.
  runtime::Device& device() { return devices_.first(); }
  runtime::ProgramId program() const { return devices_.program(); }
  /// Bytes that stay taken: cache of one session, scratch, and the CMX of a simulated machine; weights aside.
  uint64_t memoryBytes() const;

 private:
  Model() = default;

  std::unique_ptr<blob::Blob> blob_;
  Devices devices_;  ///< behind the blob, which they use to the end
  VariantTable variants_;
  std::vector<LayerRope> ropes_;
  ModelLimits limits_;
};

}  // namespace firn::engine
