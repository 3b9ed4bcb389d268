// SPDX-License-Identifier: Apache-2.0
// dh_declare_model and dh_attr.
#include "open_session.h"

namespace {

class DescribeTest : public ::testing::Test {
 protected:
  void SetUp() override { options_ = callback_options(&collector_); }
  void open() { ASSERT_EQ(dh_open(&options_, &session_), DH_OK) << collector_.log(); }
  test_reader::Stream close() {
    EXPECT_EQ(dh_close(session_), DH_OK);
    test_reader::Stream stream = test_reader::read_stream(collector_.bytes());
    EXPECT_EQ(joined(stream.wrong), "");
    return stream;
  }
  dh_status attr(uint32_t scope, const char* key, const char* value, const char* model = nullptr,
                 const char* tensor = nullptr, dh_frame frame = 0) {
    dh_attr_target target = dh_attr_target_default();
    target.scope = scope;
    target.model = model;
    target.tensor = tensor;
    target.frame = frame;
    return dh_attr(session_, &target, key, value);
  }
  dh_status declare(const char* name, uint32_t count, size_t name_bytes = 8) {
    std::vector<std::string> names;
    for (uint32_t i = 0; i <= count; ++i) {
      names.push_back("tensor" + std::to_string(i));
      names.back().resize(std::max(names.back().size(), name_bytes), '_');
    }
    std::vector<const char*> pointers;
    for (const std::string& text : names) pointers.push_back(text.c_str());
    std::vector<dh_node> nodes(count);
    for (uint32_t i = 0; i < count; ++i) {
      nodes[i] = {};
      nodes[i].name = pointers[i];
      nodes[i].op = "Conv";
      nodes[i].inputs = &pointers[i];
      nodes[i].input_count = 1;
      nodes[i].outputs = &pointers[i + 1];
      nodes[i].output_count = 1;
      nodes[i].index = static_cast<int32_t>(i);
    }
    dh_model model = dh_model_default();
    model.name = name;
    model.node_count = count;
    model.nodes = nodes.data();
    return dh_declare_model(session_, &model);
  }

  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
};

TEST_F(DescribeTest, AGraphArrivesWhole_AlsoALargeOne) {
  options_.descriptor_bytes = 8 << 20;
  open();
  for (const uint32_t count : {0u, 1u, 127u, 128u, 129u, 5000u}) {
    EXPECT_EQ(declare(("m" + std::to_string(count)).c_str(), count), DH_OK) << count;
  }
  const auto stream = close();
  for (const uint32_t count : {0u, 1u, 127u, 128u, 129u, 5000u}) {
    const auto& graph = stream.graphs.at("m" + std::to_string(count));
    EXPECT_EQ(graph.node_total, count);
    ASSERT_EQ(graph.nodes.size(), count);
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(graph.nodes[i].index, static_cast<int32_t>(i));
      EXPECT_EQ(graph.nodes[i].inputs, std::vector<std::string>{"tensor" + std::to_string(i) + (i < 10 ? "_" : "")});
    }
  }
}

TEST_F(DescribeTest, AGraphThatDoesNotFitIsRefused_AndTensorsStillHaveRoom) {
  options_.descriptor_bytes = 65536;
  open();
  EXPECT_EQ(declare("m", 3000), DH_ERR_LIMIT);
  EXPECT_NE(collector_.log().find("descriptor_bytes"), std::string::npos);
  const std::string bytes = "abc";
  const dh_frame frame = begin_frame(session_, 1);
  const dh_tensor tensor = u8_tensor("t", bytes);
  EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_OK);
  dh_frame_end(session_, frame);
  EXPECT_EQ(close().tensors.size(), 1u);
}

TEST_F(DescribeTest, AGraphWhoseNamesAreTooLongForTheSpoolIsRefused_RatherThanBlockingAllElse) {
  options_.descriptor_bytes = 16 << 20;
  options_.spool_bytes = 256 << 10;
  open();
  EXPECT_EQ(declare("m", 128, 500), DH_ERR_LIMIT);
  EXPECT_NE(collector_.log().find("spool_bytes"), std::string::npos);
  const std::string bytes = "abc";
  const dh_frame frame = begin_frame(session_, 1);
  const dh_tensor tensor = u8_tensor("t", bytes);
  EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_OK);
  dh_frame_end(session_, frame);
  EXPECT_EQ(close().frames.at(1).ends, 1u);
}

TEST_F(DescribeTest, MoreNodesThanTheSessionKeepsAreRefused_NotForgotten) {
  options_.descriptor_bytes = 64 << 20;
  open();
  EXPECT_EQ(declare("huge", 40000), DH_ERR_LIMIT);
  const auto stream = close();
  EXPECT_LT(stream.graphs.at("huge").nodes.size(), stream.graphs.at("huge").node_total)
      << "the host sees what is missing";
}

TEST_F(DescribeTest, BadModelsAreRefused) {
  open();
  EXPECT_EQ(dh_declare_model(session_, nullptr), DH_ERR_ARGUMENT);
  dh_model model = dh_model_default();
  EXPECT_EQ(dh_declare_model(session_, &model), DH_ERR_ARGUMENT);
  model.name = "m";
  model.node_count = 1;
  EXPECT_EQ(dh_declare_model(session_, &model), DH_ERR_ARGUMENT);
  dh_node node = {};
  model.nodes = &node;
  model.node_bytes = 8;
  EXPECT_EQ(dh_declare_model(session_, &model), DH_ERR_ARGUMENT);
  model.node_bytes = sizeof node + 1;
  EXPECT_EQ(dh_declare_model(session_, &model), DH_ERR_ARGUMENT);
  model.node_bytes = sizeof node;
  node.input_count = 1;
  EXPECT_EQ(dh_declare_model(session_, &model), DH_ERR_ARGUMENT);
  const char* inputs[] = {nullptr};
  node.inputs = inputs;
  EXPECT_EQ(dh_declare_model(session_, &model), DH_OK) << "an input without a name";
  node.visibility = 9;
  EXPECT_EQ(dh_declare_model(session_, &model), DH_ERR_ARGUMENT);
  close();
}

TEST_F(DescribeTest, SessionAttributesTravel_HoweverLateTheyCome) {
  open();
  EXPECT_EQ(dh_attr(session_, nullptr, "precision_mode", "fp16"), DH_OK);
  ASSERT_TRUE(soon([&] { return collector_.bytes().find("attr.precision_mode = fp16") != std::string::npos; }));
  EXPECT_EQ(dh_attr(session_, nullptr, "precision_mode", "fp32"), DH_OK);
  const auto stream = close();
  EXPECT_EQ(stream.config_changes,
            (std::vector<std::string>{"attr.precision_mode = fp16", "attr.precision_mode = fp32"}));
}

TEST_F(DescribeTest, EnvironmentAttributesAreInTheMetadata) {
  setenv("DUMPHOOK_META_Calibration", "set 7", 1);
  setenv("DUMPHOOK_INCLUDE", "*", 1);
  ASSERT_EQ(dh_open_from_env(&options_, &session_), DH_OK);
  unsetenv("DUMPHOOK_META_Calibration");
  unsetenv("DUMPHOOK_INCLUDE");
  EXPECT_EQ(close().metadata.at("attr.calibration"), "set 7");
}

TEST_F(DescribeTest, TooMuchMetadataLeavesTheSessionKnown) {
  const std::string longest(4000, 'x');
  for (int i = 0; i < 10; ++i) setenv(("DUMPHOOK_META_K" + std::to_string(i)).c_str(), longest.c_str(), 1);
  options_.board = "my board";
  ASSERT_EQ(dh_open_from_env(&options_, &session_), DH_OK);
  for (int i = 0; i < 10; ++i) unsetenv(("DUMPHOOK_META_K" + std::to_string(i)).c_str());
  const auto stream = close();
  EXPECT_EQ(stream.metadata.at("session").size(), 32u);
  EXPECT_EQ(stream.metadata.at("board"), "my board");
  EXPECT_EQ(stream.metadata.count("attr.k0") + stream.metadata.count("attr.k9"), 1u) << "some fit, some do not";
}

TEST_F(DescribeTest, ModelAttributesTravelWithTheGraph_BeforeAndAfter) {
  open();
  EXPECT_EQ(attr(DH_ATTR_MODEL, "fusion", "off", "m"), DH_OK);
  EXPECT_EQ(attr(DH_ATTR_MODEL, "fusion", "on", "m"), DH_OK);
  EXPECT_EQ(attr(DH_ATTR_MODEL, "fusion", "other", "n"), DH_OK);
  EXPECT_EQ(declare("m", 5), DH_OK);
  EXPECT_EQ(attr(DH_ATTR_MODEL, "converter", "v2", "m"), DH_OK);
  const auto stream = close();
  const auto& graph = stream.graphs.at("m");
  EXPECT_EQ(graph.attributes, (std::map<std::string, std::string>{{"fusion", "on"}, {"converter", "v2"}}));
  EXPECT_EQ(graph.nodes.size(), 5u);
}

TEST_F(DescribeTest, FrameAttributesComeWithTheFramesEnd) {
  open();
  const dh_frame frame = begin_frame(session_, 1);
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_EQ(attr(DH_ATTR_FRAME, key, "1", nullptr, nullptr, frame), DH_OK);
  EXPECT_EQ(attr(DH_ATTR_FRAME, "e", "1", nullptr, nullptr, frame), DH_ERR_LIMIT);
  EXPECT_EQ(attr(DH_ATTR_FRAME, std::string(32, 'k').c_str(), "1", nullptr, nullptr, frame), DH_ERR_LIMIT);
  dh_frame_end(session_, frame);
  EXPECT_EQ(attr(DH_ATTR_FRAME, "f", "1", nullptr, nullptr, frame), DH_ERR_ARGUMENT);
  EXPECT_EQ(close().frames.at(1).attributes.size(), 4u);
}

TEST_F(DescribeTest, TensorAttributesAreInTheDescriptor_TheNewestHolds_AndAChangeDescribesAgain) {
  open();
  EXPECT_EQ(attr(DH_ATTR_TENSOR, "crop", "1", nullptr, "t"), DH_OK);
  EXPECT_EQ(attr(DH_ATTR_TENSOR, "crop", "2", nullptr, "t"), DH_OK);
  const std::string bytes = "abc";
  for (uint64_t f = 0; f < 3; ++f) {
    const dh_frame frame = begin_frame(session_, f);
    const dh_tensor tensor = u8_tensor("t", bytes);
    EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_OK);
    dh_frame_end(session_, frame);
    EXPECT_EQ(dh_flush(session_, 5000), DH_OK);
    if (f != 0) continue;
    EXPECT_EQ(attr(DH_ATTR_TENSOR, "crop", "3", nullptr, "t"), DH_OK);
  }
  const auto stream = close();
  EXPECT_EQ(stream.tensors.at(0).attributes.at("crop"), "2");
  EXPECT_EQ(stream.tensors.at(2).attributes.at("crop"), "3");
  EXPECT_EQ(stream.descriptors, 2u);
}

TEST_F(DescribeTest, BadAttributesAreRefused) {
  open();
  EXPECT_EQ(dh_attr(session_, nullptr, nullptr, "v"), DH_ERR_ARGUMENT);
  EXPECT_EQ(dh_attr(session_, nullptr, "", "v"), DH_ERR_ARGUMENT);
  EXPECT_EQ(dh_attr(session_, nullptr, "k", nullptr), DH_ERR_ARGUMENT);
  EXPECT_EQ(attr(77, "k", "v"), DH_ERR_ARGUMENT);
  EXPECT_EQ(attr(DH_ATTR_TENSOR, "k", "v"), DH_ERR_ARGUMENT);
  EXPECT_EQ(dh_attr(session_, nullptr, std::string(64, 'k').c_str(), "v"), DH_ERR_LIMIT);
  EXPECT_EQ(dh_attr(session_, nullptr, "k", std::string(5000, 'v').c_str()), DH_ERR_LIMIT);
  close();
}

TEST_F(DescribeTest, AttributesThatUseUpTheirRoomAreRefused_WhateverTheScope) {
  options_.descriptor_bytes = 65536;
  for (const uint32_t scope : {DH_ATTR_SESSION, DH_ATTR_MODEL, DH_ATTR_TENSOR}) {
    open();
    dh_status status = DH_OK;
    for (int i = 0; i < 10000 && status == DH_OK; ++i) status = attr(scope, "key", "value", "m", "t");
    EXPECT_EQ(status, DH_ERR_LIMIT);
    dh_close(session_);
  }
}

}  // namespace
