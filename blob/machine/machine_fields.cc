#include "blob/machine/machine_fields.h"

#include "base/concat.h"

namespace firn::machine {
namespace {

constexpr uint64_t kMostText = 2000;
constexpr uint64_t kMostMhz = 10'000;
constexpr uint64_t kMostStartCycles = 1'000'000;
constexpr uint64_t kMostEnergy = 1'000'000;

// The limits keep every product of cost.cc and timeline.cc within 128 bits; cost.cc counts the bits.
const Field kFields[] = {
    {"", "name", 1, 64, &Machine::name},
    {"", "source", 1, kMostText, SourceText{}},
    {"", "tiles", 1, 32, &Machine::tiles},
    {"clocks", "source", 1, kMostText, SourceText{}},
    {"clocks", "dpu_mhz", 1, kMostMhz, &Machine::dpuMhz},
    {"clocks", "shave_mhz", 1, kMostMhz, &Machine::shaveMhz},
    {"dpu", "source", 1, kMostText, SourceText{}},
    {"dpu", "macs_per_cycle", 1, 1 << 20, &Machine::macsPerCycle},
    {"dpu", "grids", 1, 1 << 16, GridList{}},
    {"dpu", "fp16_factor", 1, 16, &Machine::fp16Factor},
    {"dpu", "start_cycles", 0, kMostStartCycles, &Machine::dpuStartCycles},
    {"shave", "source", 1, kMostText, SourceText{}},
    {"shave", "per_tile", 1, 64, &Machine::shavesPerTile},
    {"shave", "lanes", 1, 1024, &Machine::shaveLanes},
    {"shave", "start_cycles", 0, kMostStartCycles, &Machine::shaveStartCycles},
    {"shave", "efficiency_percent", 1, 100, &Machine::shaveEfficiencyPercent},
    {"shave", "kernels", 1, 10'000, KernelTable{}},
    {"cmx", "source", 1, kMostText, SourceText{}},
    {"cmx", "bytes_per_tile", uint64_t{64} << 10, uint64_t{64} << 20, &Machine::cmxBytes},
    {"cmx", "read_bytes_per_cycle", 1, 1 << 16, &Machine::cmxReadBytesPerCycle},
    {"dma", "source", 1, kMostText, SourceText{}},
    {"dma", "engines", 1, 62, &Machine::dmaEngines},
    {"dma", "bytes_per_cycle", 1, 1 << 16, &Machine::dmaBytesPerCycle},
    {"dma", "ddr_latency_ns", 0, 1'000'000, &Machine::dmaDdrLatencyNs},
    {"dma", "cmx_latency_cycles", 0, 1'000'000, &Machine::dmaCmxLatencyCycles},
    {"ddr", "source", 1, kMostText, SourceText{}},
    {"ddr", "megabytes_per_second", 1, 10'000'000, &Machine::ddrMegabytesPerSecond},
    {"ddr", "bytes", uint64_t{64} << 20, uint64_t{16} << 40, &Machine::ddrBytes},
    {"barriers", "source", 1, kMostText, SourceText{}},
    {"barriers", "count", 1, 1 << 16, &Machine::barriers},
    {"calls", "source", 1, kMostText, SourceText{}},
    {"calls", "start_ns", 0, 10'000'000, &Machine::callStartNs},
    {"energy", "source", 1, kMostText, SourceText{}},
    {"energy", "picojoules_per_mac", 0, kMostEnergy, &Energy::perMac},
    {"energy", "picojoules_per_ddr_byte", 0, kMostEnergy, &Energy::perDdrByte},
    {"energy", "picojoules_per_cmx_byte", 0, kMostEnergy, &Energy::perCmxByte},
    {"energy", "picojoules_per_shave_element", 0, kMostEnergy, &Energy::perShaveElement},
};

}  // namespace

std::span<const Field> machineFields() { return kFields; }

std::string fieldPath(const Field& field) {
  return field.section.empty() ? std::string(field.name) : concat(field.section, ".", field.name);
}

}  // namespace firn::machine
