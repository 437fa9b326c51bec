// Links node_modules/.bin/node to the pinned Node, so that npm scripts run on it. npm 11 does this itself. npm 10, which
// comes with Node 20, removes the link together with the packages for other platforms. Runs on Node 20.
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(process.argv[2] ?? '.', 'node_modules')
const { platform, arch } = process
const program = [`node-${platform}-${arch}`, `node-bin-${platform}-${arch}`]
  .map((name) => join(name, 'bin', 'node'))
  .find((path) => existsSync(join(folder, path)))
const link = join(folder, '.bin', 'node')
if (program !== undefined && !existsSync(link)) symlinkSync(join('..', program), link)
