/**
 * Node's HTTP module. An `import` of it takes 60 ms of CPU time more at every start: an ES module has all exports, and
 * one of them is a WebSocket, which loads Node's implementation of fetch.
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http')
