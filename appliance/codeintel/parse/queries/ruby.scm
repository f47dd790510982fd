(class) @d.class
(module) @d.module
(method) @d.method
(singleton_method) @d.method
(assignment left: (constant)) @d.constant

(call method: (_)) @r.invocation
(superclass [(constant) (scope_resolution)] @r.inherit)

(call method: (identifier) arguments: (argument_list . (string))) @import.require
