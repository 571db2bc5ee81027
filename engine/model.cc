#include "engine/model.h"

#include <utility>

#include "blob/machine/machine.h"
#include "runtime/cmx_memory.h"

namespace firn::engine {

Result<std::shared_ptr<Model>> Model::open(const std::string& path, const ModelOptions& options) {
  FIRN_ASSIGN_OR_RETURN(blob::Blob blob, blob::Blob::open(path));
  return create(std::move(blob), options);
}

Result<std::shared_ptr<Model>> Model::create(blob::Blob blob, const ModelOptions& options) {
  std::shared_ptr<Model> model(new Model);
  model->blob_ = std::make_unique<blob::Blob>(std::move(blob));
  FIRN_ASSIGN_OR_RETURN(model->variants_, VariantTable::create(*model->blob_, options.ladders));
  FIRN_ASSIGN_OR_RETURN(model->ropes_, ropesOfCard(model->blob_->card(), model->blob_->header()));
  FIRN_ASSIGN_OR_RETURN(model->devices_, Devices::open(*model->blob_, {.device = options.device,
                                                                       .threads = options.threads,
                                                                       .deviceOptions = options.deviceOptions}));
  const blob::ProgramHeader& header = model->blob_->header();
  model->limits_ = {header.vocab,  header.embed,    header.maxPromptTokens, header.minResponseTokens,
                    header.kvRows, header.topTokens};
  return model;
}

uint64_t Model::memoryBytes() const {
  const uint64_t cacheAndScratch = blob_->header().kvBytes + devices_.count() * blob_->header().scratchBytes;
  if (blob_->machine().empty()) return cacheAndScratch;
  const Result<machine::Machine> machine = machine::parseMachine(blob_->machine(), blob_->path());
  return cacheAndScratch + (machine ? runtime::CmxMemory(*machine).bytes : 0);  // a device has read it: it is right
}

}  // namespace firn::engine
