/* The only step that may fail is the d_step, which never does; an assertion of another process is
 * violated, and a search for steps that fail may leave that out. */
byte open
active proctype P() { d_step { open } }
active proctype Q() { assert(_nr_pr != 2) }
init { open++ }
