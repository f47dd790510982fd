(compilation_unit (val_definition pattern: (identifier)) @d.variable)
