/** An environment in which a process talks to servers on this machine directly. */
export function withoutProxies(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/proxy$/i.test(name)));
}
