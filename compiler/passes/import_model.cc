#include "compiler/passes/import_model.h"

#include <string>

#include "compiler/import/even_norms.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/check_spec.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

namespace firn::passes {
namespace {

using import::LayerSpec;
using import::LinearSpec;
using import::ModelSpec;
using import::TensorView;
using mlir::FlatSymbolRefAttr;
using mlir::Value;

constexpr const char* kRopeName = "rope.freqs";
constexpr const char* kWindowRopeName = "rope.window_freqs";

/// Builds one module; every step that can fail reports and returns null or failure.
class GraphBuilder {
 public:
  GraphBuilder(const ModelSpec& spec, mlir::MLIRContext& context, const GraphOptions& options)
      : spec_(spec), options_(options), builder_(&context), location_(mlir::UnknownLoc::get(&context)) {}

  mlir::OwningOpRef<mlir::ModuleOp> build() {
    if (const Status status = checkSpec(spec_); !status.isOk()) {
      mlir::emitError(location_) << status.message();
      return nullptr;
    }
    module_ = mlir::ModuleOp::create(location_);
    (*module_)->setAttr(graph::kModelAttr, cardAttr());
    builder_.setInsertionPointToEnd(module_->getBody());
    if (mlir::failed(declareWeights())) return nullptr;
    declareStates();
    buildModel();
    return std::move(module_);
  }

 private:
  mlir::LogicalResult fail(const char* label, const std::string& text) {
    return mlir::emitError(location_) << label << ": " << spec_.sourcePath << ": " << text;
  }

  mlir::DictionaryAttr cardAttr() {
    auto number = [&](const char* name, uint64_t value) {
      return builder_.getNamedAttr(name, builder_.getI32IntegerAttr(static_cast<int32_t>(value)));
    };
    return builder_.getDictionaryAttr({
        builder_.getNamedAttr("architecture", builder_.getStringAttr(spec_.architecture)),
        number("embed", spec_.embed),
        number("heads", spec_.heads),
        number("kv_heads", spec_.kvHeads),
        number("head_dim", spec_.headDim),
        number("ffn", spec_.ffn),
        number("vocab", spec_.vocab),
        number("layers", spec_.layers.size()),
    });
  }

  mlir::LogicalResult declareWeight(const std::string& name, const TensorView& view,
                                    llvm::ArrayRef<uint64_t> expected) {
    std::string found;
    for (uint64_t dim : view.dims) found += (found.empty() ? "" : "x") + std::to_string(dim);
    std::string wanted;
    for (uint64_t dim : expected) wanted += (wanted.empty() ? "" : "x") + std::to_string(dim);
    mlir::Type element = graph::elementType(*builder_.getContext(), view.type);
    if (!element || llvm::ArrayRef<uint64_t>(view.dims) != expected || view.name.empty()) {
      return fail("graph.import_c3", "tensor \"" + view.name + "\" for " + name + " has shape [" + found +
                                         "], expected [" + wanted + "] of a known type");
    }
    const llvm::SmallVector<int64_t> dims(view.dims.begin(), view.dims.end());
    builder_.create<graph::WeightOp>(location_, name, mlir::RankedTensorType::get(dims, element),
                                     builder_.getStringAttr(view.name), /*value=*/nullptr);
    return mlir::success();
  }

  mlir::LogicalResult declareLinear(const std::string& name, const LinearSpec& linear, uint64_t n, uint64_t k) {
    if (mlir::failed(declareWeight(name, linear.weight, {n, k}))) return mlir::failure();
    return linear.bias ? declareWeight(name + ".bias", *linear.bias, {n}) : mlir::success();
  }

  mlir::LogicalResult declareWeights() {
    const uint64_t e = spec_.embed;
    declareConstant(kRopeName, spec_.rope.freqs);
    if (spec_.windowRope) declareConstant(kWindowRopeName, spec_.windowRope->freqs);
    if (mlir::failed(declareWeight("token_embd", spec_.embedding, {spec_.vocab, e}))) return mlir::failure();
    for (size_t i = 0; i < spec_.layers.size(); ++i) {
      if (mlir::failed(declareLayer(layerName(i), spec_.layers[i]))) return mlir::failure();
    }
    if (mlir::failed(declareWeight("output_norm", spec_.outputNorm, {e}))) return mlir::failure();
    return spec_.head ? declareLinear("output", *spec_.head, spec_.vocab, e) : mlir::success();
  }

  void declareConstant(const std::string& name, llvm::ArrayRef<float> values) {
    auto type = mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, builder_.getF32Type());
    builder_.create<graph::WeightOp>(location_, name, type, /*file=*/nullptr,
                                     mlir::DenseElementsAttr::get(type, values));
  }

  mlir::LogicalResult declareNorm(const std::string& name, const std::optional<TensorView>& norm, uint64_t n) {
    return norm ? declareWeight(name, *norm, {n}) : mlir::success();
  }

  mlir::LogicalResult declareHeadNorms(const std::string& name, const LayerSpec& layer) {
    std::optional<import::HeadNorms> even;
    if (options_.evensHeadNorms) even = import::evenHeadNorms(layer, import::ropeOf(spec_, layer), spec_.headDim);
    if (even) {
      declareConstant(name + "attn_q_norm", even->q);
      declareConstant(name + "attn_k_norm", even->k);
      return mlir::success();
    }
    const bool isDeclared = mlir::succeeded(declareNorm(name + "attn_q_norm", layer.qNorm, spec_.headDim)) &&
                            mlir::succeeded(declareNorm(name + "attn_k_norm", layer.kNorm, spec_.headDim));
    return mlir::success(isDeclared);
  }

  mlir::LogicalResult declareLayer(const std::string& name, const LayerSpec& layer) {
    const uint64_t e = spec_.embed;
    const uint64_t qWidth = uint64_t{spec_.heads} * spec_.headDim;
    const uint64_t kvWidth = uint64_t{spec_.kvHeads} * spec_.headDim;
    const bool isDeclared = mlir::succeeded(declareWeight(name + "attn_norm", layer.attnNorm, {e})) &&
                            mlir::succeeded(declareLinear(name + "attn_q", layer.q, qWidth, e)) &&
                            mlir::succeeded(declareLinear(name + "attn_k", layer.k, kvWidth, e)) &&
                            mlir::succeeded(declareLinear(name + "attn_v", layer.v, kvWidth, e)) &&
                            mlir::succeeded(declareHeadNorms(name, layer)) &&
                            mlir::succeeded(declareLinear(name + "attn_output", layer.o, e, qWidth)) &&
                            mlir::succeeded(declareNorm(name + "post_attention_norm", layer.postAttnNorm, e)) &&
                            mlir::succeeded(declareWeight(name + "ffn_norm", layer.ffnNorm, {e})) &&
                            mlir::succeeded(declareLinear(name + "ffn_gate", layer.gate, spec_.ffn, e)) &&
                            mlir::succeeded(declareLinear(name + "ffn_up", layer.up, spec_.ffn, e)) &&
                            mlir::succeeded(declareLinear(name + "ffn_down", layer.down, e, spec_.ffn)) &&
                            mlir::succeeded(declareNorm(name + "post_ffw_norm", layer.postFfnNorm, e));
    return mlir::success(isDeclared);
  }

  void declareStates() {
    for (size_t i = 0; i < spec_.layers.size(); ++i) {
      for (const char* kind : {"kv.k.", "kv.v."}) {
        builder_.create<graph::StateOp>(location_, kind + std::to_string(i), cacheType());
      }
    }
  }

  void buildModel() {
    const int64_t any = mlir::ShapedType::kDynamic;
    auto list = mlir::RankedTensorType::get({any}, builder_.getI32Type());
    auto type = builder_.getFunctionType({list, list}, {matrix(spec_.vocab)});
    auto func = builder_.create<graph::FuncOp>(location_, "model", type, /*sym_visibility=*/nullptr,
                                               /*arg_attrs=*/nullptr, /*res_attrs=*/nullptr,
                                               builder_.getStrArrayAttr({graph::kIdsArg, graph::kPositionsArg}));
    mlir::Block* block = builder_.createBlock(&func.getBody());
    Value ids = block->addArgument(list, location_);
    positions_ = block->addArgument(list, location_);
    Value x = builder_.create<graph::EmbedOp>(named("token_embd"), matrix(spec_.embed), ids, symbol("token_embd"));
    if (spec_.embeddingScale != 1) {
      x = builder_.create<graph::ScaleOp>(named("embd_scale"), x.getType(), x,
                                          builder_.getF32FloatAttr(spec_.embeddingScale));
    }
    for (size_t i = 0; i < spec_.layers.size(); ++i) x = buildFfn(i, buildAttention(i, x));
    Value normed = norm("output_norm", x);
    const bool isTied = !spec_.head.has_value();
    Value logits = builder_.create<graph::HeadOp>(named("output"), matrix(spec_.vocab), normed,
                                                  symbol(isTied ? "token_embd" : "output"),
                                                  !isTied && spec_.head->bias ? symbol("output.bias") : nullptr);
    builder_.create<graph::ReturnOp>(location_, logits);
  }

  /// x + W_o attention(rope(W_q n), cache of rope(W_k n), cache of W_v n) with n = rms_norm(x); norms of the heads of q
  /// and k, and of what is added, where the layer has them.
  Value buildAttention(size_t index, Value x) {
    const LayerSpec& layer = spec_.layers[index];
    const std::string name = layerName(index);
    const int64_t qWidth = int64_t{spec_.heads} * spec_.headDim;
    const int64_t kvWidth = int64_t{spec_.kvHeads} * spec_.headDim;
    Value n = norm(name + "attn_norm", x);
    Value q = linear(name + "attn_q", n, layer.q, qWidth);
    if (layer.qNorm) q = norm(name + "attn_q_norm", q, spec_.heads);
    q = rope(layer, q, spec_.heads);
    Value k = linear(name + "attn_k", n, layer.k, kvWidth);
    if (layer.kNorm) k = norm(name + "attn_k_norm", k, spec_.kvHeads);
    k = rope(layer, k, spec_.kvHeads);
    Value v = linear(name + "attn_v", n, layer.v, kvWidth);
    Value keys = throughState("kv.k." + std::to_string(index), k);
    Value values = throughState("kv.v." + std::to_string(index), v);
    Value a = builder_.create<graph::AttentionOp>(named(name + "attn"), matrix(qWidth), q, keys, values,
                                                  /*mask=*/nullptr, /*row0=*/nullptr, spec_.heads, spec_.kvHeads,
                                                  llvm::APFloat(spec_.attentionScale), layer.window);
    Value o = linear(name + "attn_output", a, layer.o, spec_.embed);
    if (layer.postAttnNorm) o = norm(name + "post_attention_norm", o);
    return builder_.create<graph::AddOp>(named(name + "attn_add"), x.getType(), x, o);
  }

  /// x + W_down(act(W_gate n) * W_up n) with n = rms_norm(x), and a norm of what is added where the layer has one.
  Value buildFfn(size_t index, Value x) {
    const LayerSpec& layer = spec_.layers[index];
    const std::string name = layerName(index);
    Value n = norm(name + "ffn_norm", x);
    Value gate = linear(name + "ffn_gate", n, layer.gate, spec_.ffn);
    Value up = linear(name + "ffn_up", n, layer.up, spec_.ffn);
    Value gated = activation(name, gate);
    Value product = builder_.create<graph::MulOp>(named(name + "ffn_mul"), gate.getType(), gated, up);
    Value down = linear(name + "ffn_down", product, layer.down, spec_.embed);
    if (layer.postFfnNorm) down = norm(name + "post_ffw_norm", down);
    return builder_.create<graph::AddOp>(named(name + "ffn_add"), x.getType(), x, down);
  }

  Value activation(const std::string& name, Value gate) {
    if (spec_.activation == import::Activation::kSilu) {
      return builder_.create<graph::SiluOp>(named(name + "ffn_silu"), gate.getType(), gate);
    }
    return builder_.create<graph::GeluOp>(named(name + "ffn_gelu"), gate.getType(), gate, builder_.getBoolAttr(true));
  }

  Value norm(const std::string& name, Value x, uint32_t heads = 1) {
    return builder_.create<graph::RmsNormOp>(named(name), x.getType(), x, symbol(name),
                                             builder_.getF32FloatAttr(spec_.normEpsilon), count(heads));
  }

  Value linear(const std::string& name, Value x, const LinearSpec& spec, int64_t width) {
    return builder_.create<graph::LinearOp>(named(name), matrix(width), x, symbol(name),
                                            spec.bias ? symbol(name + ".bias") : nullptr);
  }

  Value rope(const LayerSpec& layer, Value x, uint32_t heads) {
    const import::RopeSpec& spec = import::ropeOf(spec_, layer);
    auto pairing = graph::RopePairingAttr::get(builder_.getContext(), spec.pairing == import::RopePairing::kInterleaved
                                                                          ? graph::RopePairing::Interleaved
                                                                          : graph::RopePairing::HalfSplit);
    return builder_.create<graph::RopeOp>(x.getLoc(), x.getType(), x, positions_,
                                          symbol(&spec == &spec_.rope ? kRopeName : kWindowRopeName), pairing,
                                          count(heads), count(spec.dims), builder_.getF32FloatAttr(spec.magnitude));
  }

  Value throughState(const std::string& state, Value rows) {
    builder_.create<graph::StateWriteOp>(rows.getLoc(), symbol(state), rows, count(spec_.kvHeads));
    return builder_.create<graph::StateReadOp>(rows.getLoc(), cacheType(), symbol(state));
  }

  static std::string layerName(size_t index) { return "blk." + std::to_string(index) + "."; }
  mlir::Location named(const std::string& name) { return mlir::NameLoc::get(builder_.getStringAttr(name)); }
  FlatSymbolRefAttr symbol(const std::string& name) { return FlatSymbolRefAttr::get(builder_.getContext(), name); }
  mlir::IntegerAttr count(uint32_t value) { return builder_.getI32IntegerAttr(static_cast<int32_t>(value)); }
  mlir::RankedTensorType matrix(int64_t width) {
    return mlir::RankedTensorType::get({mlir::ShapedType::kDynamic, width}, builder_.getF32Type());
  }
  mlir::RankedTensorType cacheType() {
    return mlir::RankedTensorType::get({spec_.kvHeads, mlir::ShapedType::kDynamic, spec_.headDim},
                                       builder_.getF32Type());
  }

  const ModelSpec& spec_;
  const GraphOptions& options_;
  mlir::OpBuilder builder_;
  mlir::Location location_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Value positions_;
};

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> buildGraph(const import::ModelSpec& spec, mlir::MLIRContext& context,
                                             const GraphOptions& options) {
  context.loadDialect<graph::GraphDialect>();
  return GraphBuilder(spec, context, options).build();
}

}  // namespace firn::passes
