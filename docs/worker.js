// The search is a worker, and a page that is read from a folder may not start one: there it runs in an empty frame.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      // what the worker posts arrives here, not at itself
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = async (...scripts) => {
        for (const script of scripts) await IFrameWorker.load(inner, script);
      };
      IFrameWorker.load(inner, url).then(() => {
        this.ready = true;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      });
    }

    static load(inner, url) {
      return new Promise((resolve, reject) => {
        const script = inner.document.createElement("script");
        script.onload = resolve;
        script.onerror = reject;
        script.src = new URL(url, location);
        inner.document.body.append(script);
      });
    }

    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  }
  window.IFrameWorker = window.Worker = IFrameWorker;
}
