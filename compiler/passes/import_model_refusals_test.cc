// What buildGraph() refuses of a model.
#include <gtest/gtest.h>

#include <limits>

#include "compiler/passes/model_spec_for_test.h"

namespace firn::passes {
namespace {

using import::ModelSpec;

using ImportModelRefusalsTest = ImportModelTest;

TEST_F(ImportModelRefusalsTest, RefusesHyperParametersOutOfRange) {
  for (uint32_t ModelSpec::* field : {&ModelSpec::embed, &ModelSpec::heads, &ModelSpec::kvHeads, &ModelSpec::headDim,
                                      &ModelSpec::ffn, &ModelSpec::vocab}) {
    for (uint32_t value : {0U, 0x80000000U, 0xFFFFFFFFU}) {
      ModelSpec spec = tinyLlama(1);
      spec.*field = value;
      expectRefused(spec, "graph.import_c1");
    }
  }
  ModelSpec spec = tinyLlama(1);
  spec.kvHeads = 3;
  expectRefused(spec, "graph.import_c1: tiny.gguf: heads is 4, expected a multiple of kv_heads 3");
  spec = tinyLlama(1);
  spec.heads = spec.kvHeads = spec.headDim = 1U << 16;
  expectRefused(spec, "graph.import_c1: tiny.gguf: heads x head_dim is above");
  spec = tinyLlama(0);
  expectRefused(spec, "graph.import_c1: tiny.gguf: found 0 layers");
  for (float bad : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    spec = tinyLlama(1);
    spec.normEpsilon = bad;
    expectRefused(spec, "graph.import_c1");
    spec = tinyLlama(1);
    spec.attentionScale = bad;
    expectRefused(spec, "graph.import_c1");
    spec = tinyLlama(1);
    spec.embeddingScale = bad;
    expectRefused(spec, "graph.import_c1");
    spec = tinyLlama(1);
    spec.rope.magnitude = bad;
    expectUnverified(spec, "graph.rope_c6");
  }
}

TEST_F(ImportModelRefusalsTest, RefusesWhatLayersOfTwoKindsHaveWrong) {
  ModelSpec spec = tinyGemma3();
  spec.layers[0].window = 1U << 31;
  expectRefused(spec, "graph.import_c1: tiny.gguf: a window is 2147483648");
  spec = tinyGemma3();
  spec.windowRope->dims = 34;
  expectRefused(spec, "graph.import_c2");
  spec = tinyGemma3();
  spec.layers[1].qNorm->dims = {64};
  expectRefused(spec, "graph.import_c3: tiny.gguf: tensor \"blk.1.attn_q_norm.weight\"");
  spec = tinyGemma3();
  spec.layers[1].postFfnNorm->dims = {32};
  expectRefused(spec, "graph.import_c3: tiny.gguf: tensor \"blk.1.post_ffw_norm.weight\"");
}

TEST_F(ImportModelRefusalsTest, RefusesARopeThatDoesNotFit) {
  for (uint32_t dims : {0U, 15U, 18U, 0xFFFFFFFEU}) {
    ModelSpec spec = tinyLlama(1);
    spec.rope.dims = dims;
    expectRefused(spec, "graph.import_c2");
  }
  ModelSpec spec = tinyLlama(1);
  spec.rope.freqs.pop_back();
  expectRefused(spec, "graph.import_c2: tiny.gguf: rope has dims 16 and 7 frequencies");
  for (float bad : {-1.0F, 1e7F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    spec = tinyLlama(1);
    spec.rope.freqs[3] = bad;
    expectRefused(spec, "graph.import_c2: tiny.gguf: a rope frequency is ");
  }
}

TEST_F(ImportModelRefusalsTest, RefusesTensorsThatDoNotFit) {
  ModelSpec spec = tinyLlama(2);
  spec.layers[1].k.weight.dims = {64, 64};
  expectRefused(spec,
                "graph.import_c3: tiny.gguf: tensor \"blk.1.attn_k.weight\" for blk.1.attn_k has shape [64x64], "
                "expected [32x64]");
  for (const std::vector<uint64_t>& dims :
       {std::vector<uint64_t>{}, {64}, {64, 64, 1}, {0, 64}, {64, 0xFFFFFFFFFFFFFFFFULL}}) {
    spec = tinyLlama(1);
    spec.layers[0].o.weight.dims = dims;
    expectRefused(spec, "graph.import_c3");
  }
  spec = tinyLlama(1);
  spec.layers[0].q.weight.type = static_cast<DType>(200);
  expectRefused(spec, "graph.import_c3");
  spec = tinyLlama(1);
  spec.embedding.name.clear();
  expectRefused(spec, "graph.import_c3");
  spec = tinyLlama(1);
  spec.layers[0].attnNorm.type = DType::kQ8_0;
  expectUnverified(spec, "graph.rms_norm_c1");
  spec = tinyLlama(1);
  spec.layers[0].v.weight.type = DType::kI32;
  expectUnverified(spec, "graph.linear_c1");
  spec = tinyLlama(1);
  spec.ffn = 40;
  spec.layers[0].gate.weight.dims = spec.layers[0].up.weight.dims = {40, 64};
  spec.layers[0].down.weight.dims = {64, 40};
  expectUnverified(spec, "graph.weight_c2");
}

}  // namespace
}  // namespace firn::passes
