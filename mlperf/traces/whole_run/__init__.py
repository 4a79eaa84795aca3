"""A whole run recorded: sources started and stopped around a command, their files read as one."""
