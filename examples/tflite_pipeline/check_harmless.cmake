# SPDX-License-Identifier: Apache-2.0
# Runs --prove-harmless on a few frames: the outputs must not change, and the JSON must have its shape. No times.
set(frames 4)
execute_process(
  COMMAND ${PROGRAM} --prove-harmless ${frames} --json ${JSON} --policy block
          --model ${ASSETS}/models/face_detection_full_range_int8.tflite --photos ${ASSETS}/photos/sample1.jpg ${ASSETS}/photos/sample2.jpg
  RESULT_VARIABLE result OUTPUT_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "exit code ${result}\n${output}")
endif()
file(READ ${JSON} json)

function(expect value)
  string(JSON found GET "${json}" ${ARGN})
  if(NOT found STREQUAL value)
    message(FATAL_ERROR "${ARGN} is ${found}, not ${value}\n${json}")
  endif()
endfunction()
expect(1 format)
# 177 tensors of the hooked model, in the frames with statistics and those in full.
math(EXPR tensors "2 * ${frames} * 177")
expect(${tensors} seen)
expect(${tensors} shipped)
set(mode 0)
foreach(name none off stats full)
  expect(${name} modes ${mode} name)
  expect(${frames} modes ${mode} frames)
  expect(0 modes ${mode} changed_frames)
  foreach(figure median_ms p99_ms ratio_to_none)
    foreach(bound low value high)
      string(JSON ${bound} GET "${json}" modes ${mode} ${figure} ${bound})
    endforeach()
    if(NOT low GREATER 0 OR low GREATER value OR value GREATER high)
      message(FATAL_ERROR "${name} ${figure} is not a figure with its interval\n${json}")
    endif()
  endforeach()
  math(EXPR mode "${mode} + 1")
endforeach()
