/** The parts of Bun that the bench uses. The types of Bun conflict with those of Node. */
declare module 'bun:sqlite' {
  type Value = string | number
  export class Database {
    constructor(file: string)
    exec(sql: string): void
    prepare(sql: string): { get(...values: Value[]): unknown; all(...values: Value[]): unknown[] }
  }
}

declare const Bun: {
  serve(options: { port: number; hostname: string; fetch(request: Request): Response | Promise<Response> }): {
    port: number
  }
}
