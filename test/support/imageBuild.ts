import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { readDockerfile, root, type Stage } from './dockerfile.ts'

/** Without the programs of the development dependencies, and with the Node that runs the tests. */
const path = [
  dirname(process.execPath),
  ...(process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.endsWith('node_modules/.bin')),
].join(delimiter)
const env = { ...process.env, PATH: path, NODE_OPTIONS: '', npm_config_prefer_offline: 'true' }

/** Whether .dockerignore names a path: the last pattern that matches it, or a folder that it is in, decides. */
function createIgnored(): { isIgnored(path: string): boolean; mayHaveOthers(folder: string): boolean } {
  const patterns = readFileSync(`${root}.dockerignore`, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ isException: line.startsWith('!'), pattern: line.replace(/^!/, '') }))
  const matchers = patterns.map(({ isException, pattern }) => {
    if (/\*\*|[?[\]\\]|^\/|\/$/.test(pattern)) throw new Error(`This pattern is not understood: ${pattern}`)
    const source = pattern.split('*').map(RegExp.escape).join('[^/]*')
    return { isException, expression: new RegExp(`^${source}(/|$)`) }
  })
  return {
    isIgnored: (path) => matchers.findLast(({ expression }) => expression.test(path))?.isException === false,
    mayHaveOthers: (folder) =>
      patterns.some(({ isException, pattern }) => isException && pattern.startsWith(`${folder}/`)),
  }
}

/** Copies what `docker build .` sends to the engine. */
function copyContext(target: string): void {
  const { isIgnored, mayHaveOthers } = createIgnored()
  const copyFolder = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        if (!isIgnored(path) || mayHaveOthers(path)) copyFolder(path)
      } else if (!isIgnored(path)) cpSync(join(root, path), join(target, path), { verbatimSymlinks: true })
    }
  }
  copyFolder('')
}

function copy(from: string, workingFolder: string, stageFolder: string, words: readonly string[]): void {
  const sources = words.slice(0, -1)
  const named = words.at(-1) ?? ''
  const target = named.startsWith('/') ? join(stageFolder, named) : join(workingFolder, named)
  const isFolder = sources.length > 1 || /(^|\/)\.?$/.test(named)
  for (const source of sources) {
    if (/[*?[]/.test(source)) throw new Error(`This pattern of a COPY is not understood: ${source}`)
    const file = join(from, source)
    // The content of a folder is copied, not the folder.
    const isInto = isFolder && !statSync(file).isDirectory()
    mkdirSync(isInto ? target : dirname(target), { recursive: true })
    cpSync(file, isInto ? join(target, basename(file)) : target, { recursive: true, verbatimSymlinks: true })
  }
}

/** Instructions that change no files. */
const withoutFiles = [
  'LABEL',
  'ENV',
  'EXPOSE',
  'VOLUME',
  'USER',
  'STOPSIGNAL',
  'HEALTHCHECK',
  'ENTRYPOINT',
  'CMD',
]

/** A command that names a path outside of the working directory would change this machine. */
const usesOtherFolders = (command: string): boolean => /(^|\s)\//.test(command)

/**
 * Builds the image without a container engine: each stage in a folder that has only what the stage copies, without the
 * files of the base image. `folder` is the working directory of the last stage; `notRun` are the commands that are left out.
 */
export function buildImage(parent: string): { folder: string; notRun: readonly string[] } {
  const context = join(parent, 'context')
  copyContext(context)
  const notRun: string[] = []
  const folders = new Map<string, string>()
  let folder = ''
  const build = ({ name, instructions }: Stage, index: number) => {
    const stageFolder = join(parent, `stage-${index}`)
    folders.set(name ?? '', stageFolder)
    folder = stageFolder
    for (const instruction of instructions) {
      const words = instruction.text.split(' ')
      if (instruction.name === 'WORKDIR') {
        folder = join(stageFolder, instruction.text)
        mkdirSync(folder, { recursive: true })
      } else if (instruction.name === 'COPY') {
        const [, other] = /^--from=(\S+) /.exec(instruction.text) ?? []
        const from = other === undefined ? context : folders.get(other)
        if (from === undefined) throw new Error(`There is no stage ${other}.`)
        copy(from, folder, stageFolder, other === undefined ? words : words.slice(1))
      } else if (instruction.name === 'RUN') {
        if (usesOtherFolders(instruction.text)) notRun.push(instruction.text)
        else
          execFileSync('sh', ['-c', instruction.text], {
            cwd: folder,
            env,
            stdio: ['ignore', 'ignore', 'inherit'],
          })
      } else if (!withoutFiles.includes(instruction.name))
        throw new Error(`This instruction is not understood: ${instruction.name} ${instruction.text}`)
    }
  }
  readDockerfile().forEach(build)
  return { folder, notRun }
}
