# cmake -DLINKER= -DOBJCOPY= -DOBJECTS= -DHEADER= -DOUTPUT= -P LocaliseSymbols.cmake
# One relocatable object of all objects listed in the file OBJECTS, whose only global symbols are the dh_* of HEADER. Groups
# of inline functions are dissolved: else the linker might replace ours by another version's in the application. Sections
# that no dh_* reaches are dropped. OUTPUT.map says what came from where.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE failed)
  if(failed)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "failed: ${command}\nWithout GNU ld and objcopy, configure with -DDUMPHOOK_LOCALISE=OFF.")
  endif()
endfunction()

file(STRINGS ${HEADER} declarations REGEX "DH_API [^;(]*dh_[a-z0-9_]+[(;]")
set(roots)
foreach(declaration IN LISTS declarations)
  if(declaration MATCHES "DH_API [^(]*[ *](dh_[a-z0-9_]+)")
    list(APPEND roots -u ${CMAKE_MATCH_1})
  endif()
endforeach()

run(${LINKER} -r --force-group-allocation --gc-sections ${roots} -Map=${OUTPUT}.map -o ${OUTPUT}.tmp @${OBJECTS})
# Made weak first: objcopy does not localise what GCC marks as unique (inline variables).
run(${OBJCOPY} --wildcard --weaken-symbol=_Z* ${OUTPUT}.tmp)
run(${OBJCOPY} --wildcard --keep-global-symbol=dh_* ${OUTPUT}.tmp ${OUTPUT})
file(REMOVE ${OUTPUT}.tmp)
