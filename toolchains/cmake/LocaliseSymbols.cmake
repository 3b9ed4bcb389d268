# cmake -DLINKER= -DOBJCOPY= -DOBJECTS= -DLZ4= -DOUTPUT= -P LocaliseSymbols.cmake
# One relocatable object of all objects listed in the file OBJECTS and what they need of LZ4, whose only global symbols are dh_*. Groups of inline
# functions are dissolved: else the linker might replace ours by another version's in the application.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE failed)
  if(failed)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "failed: ${command}\nWithout GNU ld and objcopy, configure with -DDUMPHOOK_LOCALISE=OFF.")
  endif()
endfunction()

run(${LINKER} -r --force-group-allocation -o ${OUTPUT}.tmp @${OBJECTS} ${LZ4})
run(${OBJCOPY} --wildcard --keep-global-symbol=dh_* ${OUTPUT}.tmp ${OUTPUT})
file(REMOVE ${OUTPUT}.tmp)
