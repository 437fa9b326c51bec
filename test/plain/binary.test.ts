import { join } from 'node:path'
import { describe, test } from 'node:test'
import { buildBinary, targetOf } from '../../tools/buildBinary.ts'
import { useInstallation } from '../support/installation.ts'
import { folderFor } from '../support/servers.ts'

describe('the executable', () => {
  // There is no executable for other systems.
  if (process.platform !== 'linux') return
  test('runs in an empty folder without a search path', async (t) => {
    const program = join(folderFor(t), 'petstore')
    await buildBinary(targetOf(), program)
    await useInstallation(t, { program, cwd: folderFor(t), path: '' })
  })
})
