(function_definition) @d.function

(command name: (command_name (word) @r.call))
