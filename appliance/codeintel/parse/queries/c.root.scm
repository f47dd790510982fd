(translation_unit (declaration declarator: (init_declarator)) @d.variable)
