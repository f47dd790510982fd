(module (expression_statement (assignment left: (identifier)) @d.variable))
(module (_ (block (expression_statement (assignment left: (identifier)) @d.variable))))
(module (_ (_ (block (expression_statement (assignment left: (identifier)) @d.variable)))))
(module (expression_statement (assignment left: [(pattern_list (identifier) @n.variable) (tuple_pattern (identifier) @n.variable)])))
