#include "runtime/buffers.h"

#include <unistd.h>

#include <string>
#include <utility>

namespace firn::runtime {
namespace {

uint64_t physicalBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long pageSize = sysconf(_SC_PAGESIZE);
  return pages > 0 && pageSize > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(pageSize) : UINT64_MAX;
}

Status unknownBuffer(const char* call, BufferId id) {
  return invalidArgument(std::string(call) + ": buffer " + std::to_string(static_cast<uint32_t>(id)) +
                         " is unknown or already freed");
}

}  // namespace

Status checkDeviceMemory(uint64_t bytes) {
  const uint64_t physical = physicalBytes();
  if (bytes <= physical) return Status::ok();
  return resourceExhausted(std::to_string(bytes) + " bytes of device memory asked for, the machine has " +
                           std::to_string(physical) + "; use a smaller context or model");
}

Result<PageBuffer> allocateDeviceMemory(uint64_t bytes) {
  FIRN_RETURN_IF_ERROR(checkDeviceMemory(bytes));
  return PageBuffer::allocate(bytes);
}

Result<BufferId> BufferTable::alloc(uint64_t bytes, std::byte* host) {
  if (bytes == 0) return invalidArgument("alloc: 0 bytes asked for, expected at least 1");
  if (nextId_ == UINT32_MAX) return resourceExhausted("alloc: all buffer ids of this device are used; open another");
  Buffer buffer;
  if (host == nullptr) {
    FIRN_ASSIGN_OR_RETURN(buffer.own, allocateDeviceMemory(bytes));
    buffer.bytes = buffer.own.bytes();
  } else {
    if (reinterpret_cast<uintptr_t>(host) % blob::kTensorAlignment != 0) {
      return invalidArgument("alloc: the memory given is not aligned to " + std::to_string(blob::kTensorAlignment) +
                             " bytes");
    }
    buffer.bytes = {host, bytes};
  }
  const uint32_t id = nextId_++;
  buffers_.emplace(id, std::move(buffer));
  return BufferId{id};
}

Status BufferTable::free(BufferId id) {
  return buffers_.erase(static_cast<uint32_t>(id)) == 1 ? Status::ok() : unknownBuffer("free", id);
}

Result<std::span<std::byte>> BufferTable::find(BufferId id) {
  const auto it = buffers_.find(static_cast<uint32_t>(id));
  if (it == buffers_.end()) return unknownBuffer("map or bind", id);
  return it->second.bytes;
}

}  // namespace firn::runtime
