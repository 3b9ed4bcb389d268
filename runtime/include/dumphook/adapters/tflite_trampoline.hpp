// SPDX-License-Identifier: Apache-2.0
// How the TensorFlow Lite adapter gets called: replaces the `invoke` of nodes by a function that calls the original and
// tells listeners before and after. Part of tflite.hpp.
#ifndef DUMPHOOK_ADAPTERS_TFLITE_TRAMPOLINE_HPP
#define DUMPHOOK_ADAPTERS_TFLITE_TRAMPOLINE_HPP

#include <atomic>
#include <new>
#include <vector>

#include "tensorflow/lite/c/common.h"

namespace dumphook {
namespace tflite {

class NodeListener {
 public:
  virtual void before_invoke() = 0;
  virtual void after_invoke() = 0;  // only where the node succeeded

 protected:
  ~NodeListener() = default;

 private:
  friend class HookedGraph;
  NodeListener* next_ = nullptr;
};

// The hooked nodes of one TFLite subgraph, shared by all hooks on it.
//
// TFLite hands `invoke` no user data, so a graph is found by its context, in a list that only grows and whose entries
// are used again. Finding takes no lock and may happen on any thread; all else, on the thread that uses the
// interpreter.
class HookedGraph {
 public:
  // The graph of this context, or NULL.
  static HookedGraph* find(const TfLiteContext* context) {
    HookedGraph* graph = first().load(std::memory_order_acquire);
    while (graph && graph->context_.load(std::memory_order_acquire) != context) graph = graph->next_;
    return graph;
  }

  // The graph of this context, made if there is none; NULL without memory. Each use is followed by one of leave().
  static HookedGraph* join(TfLiteContext* context) {
    HookedGraph* graph = find(context);
    if (!graph) graph = take_free(context);
    if (!graph) graph = make(context);
    if (graph) ++graph->users_;
    return graph;
  }

  void leave() {
    if (--users_ > 0) return;
    nodes_.clear();
    context_.store(nullptr, std::memory_order_release);
  }

  static bool is_hooked(const TfLiteRegistration& registration) { return registration.invoke == &trampoline; }

  // Calls `listener` around the node from now on, after those that came before. False when the node carries the
  // trampoline but its original is not known, because the hook that put it there is gone.
  bool listen(const TfLiteNode& node, TfLiteRegistration* registration, NodeListener* listener) {
    HookedNode* hooked = find_node(node);
    if (!is_hooked(*registration)) {
      if (!hooked) {
        nodes_.push_back(HookedNode());
        hooked = &nodes_.back();
        hooked->outputs = node.outputs;
      }
      hooked->invoke = registration->invoke;
      registration->invoke = &trampoline;
    }
    if (!hooked) return false;
    NodeListener** link = &hooked->listeners;
    while (*link && *link != listener) link = &(*link)->next_;
    *link = listener;
    return true;
  }

  void remove(const NodeListener* listener) {
    for (HookedNode& node : nodes_) {
      NodeListener** link = &node.listeners;
      while (*link && *link != listener) link = &(*link)->next_;
      if (*link) *link = listener->next_;
    }
  }

  // Forgets the nodes of an interpreter that lived at this address before.
  void forget_nodes() { nodes_.clear(); }

 private:
  struct HookedNode {
    const TfLiteIntArray* outputs = nullptr;  // identifies the node: TFLite may move a TfLiteNode, this array stays
    TfLiteStatus (*invoke)(TfLiteContext*, TfLiteNode*) = nullptr;
    NodeListener* listeners = nullptr;
  };

  explicit HookedGraph(TfLiteContext* context) : context_(context) {}

  static std::atomic<HookedGraph*>& first() {
    static std::atomic<HookedGraph*> head(nullptr);  // initialised by the compiler, not at run time
    return head;
  }

  static HookedGraph* take_free(TfLiteContext* context) {
    for (HookedGraph* graph = first().load(std::memory_order_acquire); graph; graph = graph->next_) {
      TfLiteContext* free = nullptr;
      if (graph->context_.compare_exchange_strong(free, context)) return graph;
    }
    return nullptr;
  }

  static HookedGraph* make(TfLiteContext* context) {
    HookedGraph* graph = new (std::nothrow) HookedGraph(context);
    if (!graph) return nullptr;
    graph->next_ = first().load(std::memory_order_relaxed);
    while (!first().compare_exchange_weak(graph->next_, graph)) {
    }
    return graph;
  }

  // Nodes run in the order in which they were hooked, so the first try mostly hits.
  HookedNode* find_node(const TfLiteNode& node) {
    for (size_t tries = 0; tries < nodes_.size(); ++tries) {
      if (expected_ >= nodes_.size()) expected_ = 0;
      HookedNode* candidate = &nodes_[expected_++];
      if (candidate->outputs == node.outputs) return candidate;
    }
    return nullptr;
  }

  static TfLiteStatus trampoline(TfLiteContext* context, TfLiteNode* node) {
    HookedGraph* graph = find(context);
    HookedNode* hooked = graph ? graph->find_node(*node) : nullptr;
    if (!hooked) {
      context->ReportError(context, "dumphook: a HookDelegate was destroyed before its interpreter");
      return kTfLiteError;
    }
    for (NodeListener* listener = hooked->listeners; listener; listener = listener->next_) listener->before_invoke();
    const TfLiteStatus status = hooked->invoke(context, node);
    if (status != kTfLiteOk) return status;
    for (NodeListener* listener = hooked->listeners; listener; listener = listener->next_) listener->after_invoke();
    return status;
  }

  std::atomic<TfLiteContext*> context_;  // NULL: this entry is free
  HookedGraph* next_ = nullptr;
  int users_ = 0;
  size_t expected_ = 0;
  std::vector<HookedNode> nodes_;
};

}  // namespace tflite
}  // namespace dumphook

#endif  // DUMPHOOK_ADAPTERS_TFLITE_TRAMPOLINE_HPP
