// The Device of every backend that works in the host's memory and runs an entry inside submit.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "runtime/backend.h"
#include "runtime/buffers.h"
#include "runtime/device.h"

namespace firn::runtime {

class StaticDevice final : public Device {
 public:
  explicit StaticDevice(std::unique_ptr<Backend> backend);
  ~StaticDevice() override;

  DeviceInfo query() const override { return info_; }
  using Device::alloc;
  Result<BufferId> alloc(uint64_t bytes, std::byte* host) override;
  Status free(BufferId buffer) override;
  Result<std::span<std::byte>> map(BufferId buffer) override;
  Result<ProgramId> load(const blob::Blob& blob, const LoadOptions& options) override;
  Status unload(ProgramId program) override;
  Status bind(ProgramId program, uint32_t entry, const Bindings& bindings) override;
  Status submit(ProgramId program, uint32_t entry) override;
  Status wait() override;
  std::vector<ProfileRow> profile() override;
  Status reset() override;
  Status close() override;

 private:
  struct Loaded {
    std::unique_ptr<LoadedProgram> program;
    std::unique_ptr<Executor> executor;
    std::unique_ptr<TaskClock> clock;  ///< made by the first profile()
  };
  struct Flight {
    ProgramId program{};
    uint32_t entry = 0;
  };

  Status checkOpen() const;
  Status checkIdle(const char* call) const;
  Result<Loaded*> findProgram(ProgramId program);
  Result<Entry*> findEntry(Loaded& loaded, uint32_t entry);
  static std::unique_ptr<TaskClock> makeClock(const Loaded& loaded);

  std::unique_ptr<Backend> backend_;
  DeviceInfo info_;
  BufferTable buffers_;
  std::map<uint32_t, Loaded> programs_;
  uint32_t nextProgram_ = 1;
  std::optional<Flight> flight_;
  bool isMeasuring_ = false;
  std::map<std::string, TaskClock::Cell> unloadedTimes_;  ///< of programs unloaded since the last profile()
  bool isOpen_ = true;
};

}  // namespace firn::runtime
