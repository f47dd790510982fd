"""How a command is locked in: what is ordered, the layers that hold it, and the program that puts them on."""
