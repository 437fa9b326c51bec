/** Writes docs/guides/commands.md from the commands. */
import { writeFileSync } from 'node:fs'
import { createProgram } from '../src/commands/interface/program.ts'
import { commandReference } from '../src/commands/interface/reference.ts'

writeFileSync(new URL('../docs/guides/commands.md', import.meta.url), commandReference(createProgram('')))
